"""Adoption of the checkpoint of a stream: files that it has read are not read again. Without Spark."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import penstock
from penstock import destinations
from penstock.errors import UsageError
from penstock.sources.filesystem.day_window import NewestDay
from penstock.sources.filesystem.files import NewFiles
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
READ = {"a.csv": 1_000.5, "day 1/b.csv": 2_000.25, "day 1/ü+c.csv": 3_000.0}
"""The files that the query has read, with their times in seconds."""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Return a folder with the files that were read, and one newer file."""
    folder = tmp_path / "raw"
    for name, time in {**READ, "new.csv": 4_000.0}.items():
        add_file(folder, name, time)
    return folder


@pytest.fixture
def checkpoint(tmp_path: Path, raw: Path) -> Path:
    """Return a checkpoint after two batches, of which the first is compacted."""
    folder = tmp_path / "checkpoint"
    first, second, third = (
        entry(raw, name, time, number > 0) for number, (name, time) in enumerate(READ.items())
    )
    put(folder, "sources/0/0.compact", first)
    put(folder, "sources/0/1", second, third)
    put(folder, "sources/0/.1.crc", "")
    for batch in range(2):
        # The batches of a query have other numbers than those of its source.
        put(folder, f"offsets/{batch + 5}", {"batchWatermarkMs": 0}, {"logOffset": batch})
        put(folder, f"commits/{batch + 5}", {"nextBatchWatermarkMs": 0})
    return folder


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    write_deltalake(str(tmp_path / "lake" / "demo" / "orders"), pa.table({"name": list(READ)}))
    delta = destinations.delta(bucket_url=str(tmp_path / "lake"))
    return penstock.pipeline(
        "shop", destination=delta, dataset_name="demo", pipelines_dir=str(tmp_path / "pipelines")
    )


def add_file(folder: Path, name: str, time: float) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("name\n")
    os.utime(path, (time, time))


def entry(folder: Path, name: str, time: float, batch: int) -> dict[str, Any]:
    """Return a line of the log as Spark writes it: the path is encoded, the time in milliseconds."""
    return {"path": (folder / name).as_uri(), "timestamp": int(time * 1000), "batchId": int(batch)}


def put(folder: Path, name: str, *lines: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["v1", *map(json.dumps, lines)]))


def names_of_next_run(pipeline: Pipeline, raw: Path) -> list[str]:
    """Run a resource that selects files as `files` does, and loads their names; return these."""
    new_files = NewFiles(
        location=FolderLocation.of(str(raw)), glob=Glob("**"), window_days=None, files_per_job=10
    )
    names: list[str] = []

    @penstock.resource
    def orders() -> Iterator[Any]:
        seen = new_files._open_seen_set()
        unseen = list(new_files._unseen_files(seen, Counter(), NewestDay(today=datetime.now(UTC).date())))
        new_files._mark_read(seen, tuple(unseen), Counter())
        names.extend(file.path for file in unseen)
        yield [{"name": file.path} for file in unseen]

    pipeline.run(orders)
    return sorted(names)


def adopt(pipeline: Pipeline, checkpoint: Path, raw: Path, **options: Any) -> dict[str, Any]:
    return pipeline.adopt("orders", checkpoint=str(checkpoint), files=str(raw), **options).asdict()


def test_the_next_run_reads_only_files_that_the_query_has_not_read(
    pipeline: Pipeline, checkpoint: Path, raw: Path
) -> None:
    document = adopt(pipeline, checkpoint, raw)

    assert {key: document["files"][key] for key in ("read", "changed", "deleted", "unread")} == {
        "read": 3,
        "changed": 0,
        "deleted": 0,
        "unread": 1,
    }
    assert names_of_next_run(pipeline, raw) == ["new.csv"]
    assert names_of_next_run(pipeline, raw) == []
    assert sorted(pipeline.dataset()["orders"].arrow()["name"].to_pylist()) == sorted([*READ, "new.csv"])


def test_times_of_whole_seconds_are_those_of_the_files(
    pipeline: Pipeline, checkpoint: Path, raw: Path
) -> None:
    put(checkpoint, "sources/0/0.compact", {**entry(raw, "a.csv", 1_000.5, 0), "timestamp": 1_000_000})

    assert adopt(pipeline, checkpoint, raw)["files"]["read"] == 3


def test_files_that_do_not_exist_any_more_are_counted(
    pipeline: Pipeline, checkpoint: Path, raw: Path
) -> None:
    (raw / "a.csv").unlink()

    assert adopt(pipeline, checkpoint, raw)["files"]["deleted"] == 1
    assert names_of_next_run(pipeline, raw) == ["new.csv"]


@pytest.mark.parametrize(("treatment", "names"), [("skip", ["new.csv"]), ("read", ["a.csv", "new.csv"])])
def test_changed_files_are_refused_skipped_or_read(
    pipeline: Pipeline, checkpoint: Path, raw: Path, treatment: str, names: list[str]
) -> None:
    add_file(raw, "a.csv", 5_000.0)

    with pytest.raises(UsageError, match=r"changed since the query read them: 1, such as a\.csv"):
        adopt(pipeline, checkpoint, raw)
    adopt(pipeline, checkpoint, raw, changed_files=treatment)

    assert names_of_next_run(pipeline, raw) == names


def test_older_files_that_the_query_left_out_are_reported(
    pipeline: Pipeline, checkpoint: Path, raw: Path
) -> None:
    add_file(raw, "late.csv", 1_500.0)

    (note,) = adopt(pipeline, checkpoint, raw, dry_run=True)["notes"]

    assert "not in its log: 1, such as late.csv" in note


def test_a_batch_that_is_not_committed_is_refused(pipeline: Pipeline, checkpoint: Path, raw: Path) -> None:
    put(checkpoint, "sources/0/2", entry(raw, "new.csv", 4_000.0, 2))

    with pytest.raises(UsageError, match=r"\(files: 1\) is not committed"):
        adopt(pipeline, checkpoint, raw)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sources/0/1", 'v1\n{"topic":{"0":7}}'),
        ("sources/0/1", "v1\nnothing"),
        ("sources/0/1", "v2\n{}"),
        ("offsets/6", 'v1\n{}\n{"topic":{"0":7}}'),
        ("offsets/6", "v1\n{}"),
    ],
)
def test_checkpoints_of_other_sources_are_refused(
    pipeline: Pipeline, checkpoint: Path, raw: Path, name: str, content: str
) -> None:
    (checkpoint / name).write_text(content)

    with pytest.raises(UsageError, match="is not a file that a file source of Structured Streaming writes"):
        adopt(pipeline, checkpoint, raw)


def test_a_folder_that_is_no_checkpoint_is_refused(pipeline: Pipeline, checkpoint: Path, raw: Path) -> None:
    with pytest.raises(UsageError, match="has the logs of 0 sources"):
        adopt(pipeline, raw, raw)
    put(checkpoint, "sources/1/0", entry(raw, "a.csv", 1_000.5, 0))
    with pytest.raises(UsageError, match="has the logs of 2 sources"):
        adopt(pipeline, checkpoint, raw)


def test_another_folder_than_that_of_the_query_is_refused(
    pipeline: Pipeline, checkpoint: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="none of the 3 files of the checkpoint"):
        adopt(pipeline, checkpoint, tmp_path / "lake")


def test_a_checkpoint_needs_the_folder_of_its_files(pipeline: Pipeline, checkpoint: Path) -> None:
    with pytest.raises(UsageError, match="belong together"):
        pipeline.adopt("orders", checkpoint=str(checkpoint))
    with pytest.raises(UsageError, match="is not a treatment of changed files"):
        adopt(pipeline, checkpoint, checkpoint, changed_files="drop")


def test_a_query_without_committed_batches_has_read_nothing(
    pipeline: Pipeline, checkpoint: Path, raw: Path
) -> None:
    for path in (*checkpoint.glob("commits/*"), *checkpoint.glob("sources/0/*[0-9t]")):
        path.unlink()

    document = adopt(pipeline, checkpoint, raw)

    assert (document["files"]["read"], document["files"]["unread"]) == (0, 4)
