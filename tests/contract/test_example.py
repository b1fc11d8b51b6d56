"""Complete runs with a third-party destination, which is four files and an entry point."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.step_failures import step_raises

import penstock
from penstock.errors import LoadClientJobFailed, LoadClientJobRetry, UsageError
from penstock.interfaces import destination_names
from penstock.package import Packages

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.load.report import LoadInfo

ROWS = [{"id": 1, "name": "a", "tags": ["x", "y"]}, {"id": 2, "name": "b", "tags": []}]

RUN = """
import json, os, sys
import penstock

pipeline = penstock.pipeline(
    "quick", pipelines_dir=sys.argv[1], destination="example", dataset_name="Demo"
)
pipeline.run(json.loads(sys.argv[2]), table_name="items", write_disposition=sys.argv[3])
"""


@dataclass(frozen=True)
class Example:
    """The destination's folder, and a pipeline that loads into it."""

    folder: Path
    pipelines: Path
    site: Path
    spark: SparkSession | None

    def pipeline(self, pipelines: Path | None = None) -> penstock.Pipeline:
        return penstock.pipeline(
            "quick",
            pipelines_dir=pipelines or self.pipelines,
            destination="example",
            dataset_name="Demo",
            spark=self.spark,
        )

    def run(self, rows: list[Any] | None = None, disposition: str = "append") -> LoadInfo:
        if rows is None:
            return self.pipeline().run()
        return self.pipeline().run(rows, table_name="items", write_disposition=disposition)

    def inject(self, **faults: Any) -> None:
        """Set the faults of later jobs; without any, remove them."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "faults.json").write_text(json.dumps(faults))

    def query(self, text: str, dataset: str = "demo") -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.folder / f"{dataset}.sqlite", timeout=60)) as connection:
            return connection.execute(text).fetchall()

    def values(self, table: str, column: str) -> list[Any]:
        return sorted(row[0] for row in self.query(f'SELECT "{column}" FROM "{table}"'))

    def has_job_log(self, dataset: str) -> bool:
        """Return whether the file and its job log exist; the file is created first."""
        tables = "SELECT 1 FROM sqlite_master WHERE name = '_jobs'"
        return (self.folder / f"{dataset}.sqlite").exists() and bool(self.query(tables, dataset))

    @property
    def packages(self) -> Packages:
        return Packages.at(str(self.pipelines / "quick" / "load" / "Demo"))

    def killed_while(self, rows: list[Any], disposition: str, *, seen: str, dataset: str = "demo") -> None:
        """Run in a separate process, and kill it once the query `seen` returns a row."""
        environment = {**os.environ, "PYTHONPATH": str(self.site), "LOAD__POLL_PAUSE": "0.01"}
        command = [sys.executable, "-c", RUN, str(self.pipelines), json.dumps(rows), disposition]
        running = subprocess.Popen(
            command, env=environment, cwd=self.folder, stderr=subprocess.PIPE, start_new_session=True
        )
        until = time.monotonic() + 400
        try:
            while not self.has_job_log(dataset) or not self.query(seen, dataset):
                assert running.poll() is None, running.stderr.read().decode() if running.stderr else ""
                assert time.monotonic() < until
                time.sleep(0.05)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            if running.stderr:
                running.stderr.close()


@pytest.fixture
def example(spark: SparkSession, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Example:
    monkeypatch.setenv("DESTINATION__EXAMPLE__FOLDER", str(tmp_path / "files"))
    monkeypatch.setenv("LOAD__RETRY_PAUSE", "0.01")
    monkeypatch.setenv("LOAD__POLL_PAUSE", "0.01")
    return Example(tmp_path / "files", tmp_path / "pipelines", site, spark)


def counts(info: LoadInfo) -> dict[str, int | None]:
    return {table.table: table.rows for package in info.packages for table in package.tables}


def test_a_third_party_destination_is_found_by_its_entry_point(site: Path) -> None:
    assert "example" in destination_names()
    assert penstock.pipeline("quick", destination="example").destination is not None


def test_nested_rows_are_loaded_and_the_load_is_complete_in_the_destination_and_in_the_ledger(
    example: Example,
) -> None:
    info = example.run(ROWS)

    assert counts(info) == {"items": 2, "items__tags": 2}
    assert example.query("SELECT id, name FROM items ORDER BY id") == [(1, "a"), (2, "b")]
    assert example.values("items__tags", "value") == ["x", "y"]
    assert example.values("_dlt_loads", "load_id") == info.loads_ids
    package = example.packages.package(info.loads_ids[0])
    assert package.status == "loaded"
    assert {job.state for job in package.jobs.list_jobs().jobs.values()} == {"completed_jobs"}
    ledger = example.packages.store.subfolder("ledger")
    assert ledger.names("_dlt_loads") == [f"quick__{info.loads_ids[0]}.jsonl"]
    assert str(info).splitlines()[1] == f"into example dataset 'Demo' at {example.folder}"


def test_reading_from_a_destination_without_table_versions_is_refused(example: Example) -> None:
    with pytest.raises(UsageError, match="penstock cannot read tables of the example destination"):
        print(example.pipeline().dataset().tables)  # noqa: T201 - reading is what fails


def test_the_package_stores_the_schema_changes_that_the_destination_applied(example: Example) -> None:
    first = example.run([{"id": 1}])
    second = example.run([{"id": 2, "late": True}])

    changed = [
        {
            name: [column for column in table["columns"] if not column.startswith("_dlt")]
            for name, table in (example.packages.package(load_id).applied_schema_updates() or {}).items()
        }
        for load_id in (*first.loads_ids, *second.loads_ids)
    ]
    assert changed == [{"items": ["id"]}, {"items": ["late"]}]
    assert example.query("SELECT id, late FROM items ORDER BY id") == [(1, None), (2, 1)]


@pytest.mark.parametrize("kind", ["transient", "late"])
def test_a_transient_failure_is_retried_and_loaded_once(example: Example, kind: str) -> None:
    example.inject(**{kind: {"items": 2, "items__tags": 1}})

    info = example.run(ROWS)

    assert counts(info) == {"items": 2, "items__tags": 2}
    assert example.values("items", "id") == [1, 2]
    attempts = dict(example.query("SELECT substr(job_id, 1, instr(job_id, '.') - 1), attempts FROM _jobs"))
    assert attempts == {"items": 3, "items__tags": 2}
    jobs = example.packages.package(info.loads_ids[0]).jobs.list_jobs().jobs.values()
    assert {job.name.table_name: job.name.retry_count for job in jobs} == {"items": 2, "items__tags": 1}


def test_after_five_attempts_the_run_stops_and_the_next_one_resumes(example: Example) -> None:
    example.inject(transient={"items": 7})

    with step_raises(LoadClientJobRetry, step="load") as caught:
        example.run(ROWS)

    facts = vars(caught.value)
    assert (facts["retry_count"], facts["retry_message"]) == (5, "items is busy")
    assert example.values("_dlt_loads", "load_id") == []
    again = example.run()
    assert again.loads_ids == [facts["load_id"]]
    assert example.values("items", "id") == [1, 2]
    assert example.values("items__tags", "value") == ["x", "y"]


def test_a_failed_job_blocks_the_load_until_its_cause_is_fixed_if_so_configured(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
    example.inject(terminal=["items__tags"])

    with step_raises(LoadClientJobFailed, match="items__tags is closed", step="load") as caught:
        example.run(ROWS)

    facts = vars(caught.value)
    assert facts["job_id"].startswith("items__tags.")
    assert example.values("_dlt_loads", "load_id") == []
    assert example.values("items", "id") == [], "a root waits for the tables nested in it"
    assert example.packages.package(facts["load_id"]).status == "normalized"
    example.inject()
    assert example.run().loads_ids == [facts["load_id"]]
    assert example.values("items", "id") == [1, 2]
    assert example.values("items__tags", "value") == ["x", "y"]


def test_a_failed_chain_is_left_out_while_the_others_are_loaded(example: Example) -> None:
    example.inject(terminal=["items__tags"])
    resources = [
        penstock.resource(ROWS, name="items"),
        penstock.resource([{"id": 7, "parts": [1]}], name="others"),
    ]

    info = example.pipeline().run(resources)

    assert counts(info) == {"others": 1, "others__parts": 1}
    assert example.values("items", "id") == []
    assert example.values("others", "id") == [7]
    assert example.values("_dlt_loads", "load_id") == info.loads_ids
    assert info.has_failed_jobs
    failed = {job.job_id.split(".")[0]: job.failed_message for job in info.packages[0].failed_jobs}
    assert failed["items__tags"] == "items__tags is closed"
    assert failed["items"].endswith("and was not run")
    package = example.packages.package(info.loads_ids[0])
    assert {job.name.table_name for job in package.jobs.list_jobs().in_state("failed_jobs")} == set(failed)
    assert package.store.exists("data"), "the rows of failed jobs are kept"


def test_a_replace_is_staged_and_published_by_a_follow_up_job_of_the_chain(
    example: Example,
) -> None:
    example.run(ROWS, "replace")

    info = example.run([{"id": 9, "name": "z"}], "replace")

    assert counts(info) == {"items": 1}
    assert example.query("SELECT id, name FROM items") == [(9, "z")]
    assert example.values("items__tags", "value") == [], "children of replaced rows are deleted"
    jobs = example.packages.package(info.loads_ids[0]).jobs.list_jobs().jobs.values()
    assert sorted(job.name.file_format for job in jobs) == ["reference", "sql"]
    assert example.query("SELECT id FROM items", "demo_staging") == [(9,)]


def test_merge_replaces_rows_with_the_same_key_and_their_children(example: Example) -> None:
    example.run(ROWS, "merge")

    example.run([{"id": 1, "name": "new", "tags": ["z"]}], "merge")

    assert example.query("SELECT id, name FROM items ORDER BY id") == [(1, "new"), (2, "b")]
    assert example.values("items__tags", "value") == ["z"]


def test_a_failed_job_before_publishing_leaves_the_tables_unchanged(example: Example) -> None:
    example.run(ROWS, "replace")
    example.inject(terminal=["items"])

    info = example.run([{"id": 9, "tags": ["z"]}], "replace")

    assert info.has_failed_jobs
    assert example.values("items", "id") == [1, 2]
    assert example.values("items__tags", "value") == ["x", "y"]


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("faults", "seen"),
    [
        pytest.param(
            {"hide": "items"},
            "SELECT 1 FROM _jobs WHERE state = 'completed' AND job_id LIKE 'items.%'",
            id="the job was completed and not reported",
        ),
        pytest.param(
            {"hang": "items.reference"},
            "SELECT 1 FROM _jobs WHERE job_id LIKE 'items.%'",
            id="the job was running",
        ),
    ],
)
def test_a_process_killed_during_a_job_is_followed_by_one_that_duplicates_nothing(
    example: Example, faults: dict[str, str], seen: str
) -> None:
    example.inject(**faults)
    example.killed_while(ROWS, "append", seen=seen)
    started = [package.jobs.list_jobs().in_state("started_jobs") for package in _pending(example)]
    assert [[job.name.table_name for job in jobs] for jobs in started] == [["items"]]
    example.inject()

    info = example.run()

    assert len(info.loads_ids) == 1
    assert counts(info) == {"items": 2, "items__tags": 2}
    assert example.values("items", "id") == [1, 2]
    assert example.values("items__tags", "value") == ["x", "y"]
    assert example.values("_dlt_loads", "load_id") == info.loads_ids
    assert example.run().loads_ids == []


@pytest.mark.at_length
def test_a_process_killed_during_publishing_is_followed_by_one_that_publishes_once(
    example: Example,
) -> None:
    example.inject(hang="items.sql")
    example.killed_while(ROWS, "merge", seen="SELECT 1 FROM _jobs WHERE job_id LIKE '%.sql'")
    example.inject()

    info = example.run()

    assert len(info.loads_ids) == 1
    assert example.values("items", "id") == [1, 2]
    assert example.values("items__tags", "value") == ["x", "y"]
    jobs = example.query("SELECT state FROM _jobs WHERE job_id LIKE '%.sql'")
    assert jobs == [("completed",)], "the job that was running is the one that is completed"


def test_a_new_machine_continues_with_the_state_of_the_destination(example: Example, tmp_path: Path) -> None:
    example.run([{"id": 1}])

    elsewhere = example.pipeline(tmp_path / "another machine")
    elsewhere.run([{"id": 2, "late": 1}], table_name="items")

    versions = example.query("SELECT version, schema FROM _dlt_version ORDER BY version")
    assert [version for version, _ in versions] == [1, 2]
    assert list(json.loads(versions[1][1])["tables"]["items"]["columns"])[:1] == ["id"]
    states = example.query("SELECT DISTINCT version, version_hash FROM _dlt_pipeline_state")
    assert len(states) == 1, "the state was restored and has not changed"


def _pending(example: Example) -> list[Any]:
    return example.packages.with_status("normalized")
