"""A stuck load is listed and cleared from the command line; the page on failures runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.command_documents import read_documents
from tests.flow.factories import make_pipeline
from tests.flow.test_failed_jobs import block_table
from tests.step_failures import step_raises
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.errors import LoadClientJobFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
ROWS = [{"id": 1, "tags": ["x", "y"]}]


@pytest.mark.at_length
@pytest.mark.parametrize(
    "has_loaded",
    [
        pytest.param(True, id="a later load"),
        pytest.param(False, id="the first load"),
    ],
)
def test_a_stuck_package_is_listed_and_cleared(
    spark: SparkSession,
    other: SparkSession,
    location: str,
    tmp_path: Path,
    has_loaded: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
    pipeline = make_pipeline(location, tmp_path, spark)
    if has_loaded:
        pipeline.run([{"id": 0}], table_name="orders")
    block_table(location, other, "named_struct('a', 1)")
    with step_raises(LoadClientJobFailed, step="load"):
        pipeline.run(ROWS, table_name="items")
    (stuck,) = pipeline.list_normalized_load_packages()
    where = ["--pipelines-dir", str(tmp_path / "pipelines"), "--location", location]

    def command_output(*words: str, exit_code: int = 0) -> dict[str, Any]:
        done = CliRunner().invoke(app, ["pipeline", "quick", *words, *where, "--json"])
        assert done.exit_code == exit_code, done.exception
        (document,) = read_documents(f"pipeline {words[0]}", done.stdout)
        return document

    info = command_output("info")
    assert (info["destination"], info["dataset_name"]) == ("delta", "demo")
    assert (info["normalized_packages"], info["last_run"]["failed_step"]) == ([stuck], "load")
    failed = command_output("failed-jobs", exit_code=3)
    assert (failed["load_id"], failed["table_name"], failed["state"]) == (stuck, "items", "new_jobs")
    assert failed["failed_message"].startswith("retry: terminal\n")
    refused = CliRunner().invoke(app, ["pipeline", "quick", "drop-pending", *where])
    assert (refused.exit_code, pipeline.has_pending_data) == (2, True)
    assert "has started to load: it is aborted" in refused.stderr
    assert command_output("drop-pending", "--yes") == {
        "pipeline_name": "quick",
        "dropped": [stuck],
        "kept": [],
    }

    assert not pipeline.has_pending_data
    block_table(location, other, "0L")
    pipeline.run(ROWS, table_name="items")
    counts = pipeline.dataset().row_counts()
    assert (counts["items"], counts["items__tags"]) == (2, 2)
    assert command_output("info")["last_run"]["failed_step"] is None


def test_the_page_on_failures_loads_what_it_extracts(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", location)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    calls: list[int] = []

    def orders() -> Iterator[Any]:
        calls.append(1)
        yield {"id": 1}
        if len(calls) == 1:
            raise ConnectionError("reset by peer")

    names: dict[str, Any] = {"orders": orders}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)

    assert len(calls) == 3
    assert names["pipeline"].dataset().row_counts() == {"orders": 2}
