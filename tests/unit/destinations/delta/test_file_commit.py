"""Files are committed to a table once, also by concurrent writers; real tables, without Spark."""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Schema

from penstock.destinations.delta.commit_gate import COMMIT_GATE
from penstock.destinations.delta.delta_log import DeltaLog
from penstock.destinations.delta.file_commit import Obstacle, commit_files, read_data_files
from penstock.destinations.delta.history import load_metadata
from penstock.errors import CommitLost, InternalError
from penstock.interfaces import AppliedJob, LoadMark
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.destinations.delta.file_commit_plan import WriteMode
    from penstock.destinations.delta.file_stats import DataFile

SCHEMA = json.dumps(
    {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": False, "metadata": {}}]}
)


def mark(sequence: int = 1, pipeline: str = "shop") -> LoadMark:
    return LoadMark(
        pipeline_name=pipeline,
        sequence=sequence,
        load_id=f"{sequence}.5",
        manifest_hash=f"{pipeline}-{sequence}",
    )


class Lake:
    """A dataset with one table."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, FileStorage(str(folder))

    def files(self, *groups: list[int]) -> tuple[DataFile, ...]:
        name = uuid.uuid4().hex
        (self.folder / "items" / name).mkdir(parents=True)
        for number, ids in enumerate(groups):
            path = self.folder / "items" / name / f"part-{number}.parquet"
            pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), path)
        return read_data_files(self.store, "items", name, schema_json=SCHEMA)

    def commit(
        self,
        *ids: int,
        load: LoadMark,
        mode: WriteMode = "append",
        before: Callable[[], object] = lambda: None,
    ) -> AppliedJob | Obstacle:
        def files() -> tuple[DataFile, ...]:
            result = self.files(list(ids))
            before()
            return result

        return commit_files(self.store, "items", files, schema_json=SCHEMA, mark=load, mode=mode)

    def table(self) -> DeltaTable:
        return DeltaTable(str(self.folder / "items"))

    def ids(self) -> list[int]:
        return sorted(self.table().to_pyarrow_table()["id"].to_pylist())


def read_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[commit_files.__module__], "_copies_log", lambda _: True)


@pytest.fixture(params=["read in place", "copied"])
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Lake:
    """A dataset on a disk, whose logs `deltalake` reads where they are, or as in a store from a copy."""
    if request.param == "copied":
        read_copies(monkeypatch)
    return Lake(tmp_path / "a lake ä" / "demo")


def test_the_first_files_create_the_table_and_further_ones_are_appended(lake: Lake) -> None:
    first, second = lake.commit(1, 2, load=mark(1)), lake.commit(3, load=mark(2))

    assert first == AppliedJob(table="items", rows=2, version_before=None, version_after=0)
    assert second == AppliedJob(table="items", rows=1, version_before=0, version_after=1)
    assert lake.ids() == [1, 2, 3]
    assert lake.table().transaction_version("penstock/shop") == 2
    newest = lake.table().history(1)[0]
    assert (newest["userMetadata"], newest["operationMetrics"]["numOutputRows"], newest["isBlindAppend"]) == (
        load_metadata(mark(2)),
        "1",
        True,
    )


def test_an_overwrite_replaces_all_files(lake: Lake) -> None:
    lake.commit(1, load=mark(1))
    lake.commit(2, load=mark(2))

    assert lake.commit(3, load=mark(3), mode="overwrite") == AppliedJob(
        table="items", rows=1, version_before=1, version_after=2
    )
    assert lake.ids() == [3]
    assert lake.table().history(1)[0]["isBlindAppend"] is False
    assert isinstance(lake.commit(load=mark(4), mode="overwrite"), AppliedJob)
    assert lake.ids() == []


def test_a_load_without_rows_uses_up_its_transaction(lake: Lake) -> None:
    lake.commit(1, load=mark(1))

    assert lake.commit(load=mark(2)) == AppliedJob(table="items", rows=0, version_before=0, version_after=1)
    assert isinstance(lake.commit(2, load=mark(2)), Obstacle)


@pytest.mark.parametrize("sequence", [1, 2])
def test_files_are_not_even_written_where_the_table_has_the_transaction(lake: Lake, sequence: int) -> None:
    lake.commit(1, load=mark(1))
    lake.commit(2, load=mark(2))

    result = lake.commit(9, load=mark(sequence), before=lambda: pytest.fail("written"))

    assert isinstance(result, Obstacle)
    assert lake.ids() == [1, 2]
    assert isinstance(lake.commit(7, load=mark(1, "other pipeline")), AppliedJob)


def test_the_same_load_that_is_committed_meanwhile_counts_once(lake: Lake) -> None:
    lake.commit(1, load=mark(1))

    result = lake.commit(2, load=mark(2), before=lambda: lake.commit(2, load=mark(2)))

    assert isinstance(result, Obstacle)
    assert lake.ids() == [1, 2]


def test_the_table_that_is_created_meanwhile_is_appended_to(lake: Lake) -> None:
    result = lake.commit(2, load=mark(2), before=lambda: lake.commit(1, load=mark(1)))

    assert result == AppliedJob(table="items", rows=1, version_before=0, version_after=1)
    assert lake.ids() == [1, 2]


def test_an_overwrite_also_replaces_files_that_are_committed_meanwhile(lake: Lake) -> None:
    lake.commit(1, load=mark(1))

    lake.commit(3, load=mark(3), mode="overwrite", before=lambda: lake.commit(2, load=mark(2)))

    assert lake.ids() == [3]
    assert lake.table().version() == 2


def test_a_table_that_is_changed_meanwhile_is_looked_at_again(lake: Lake) -> None:
    lake.commit(1, load=mark(1))

    def add_constraint() -> None:
        lake.table().alter.add_constraint({"positive": "id > 0"})

    result = lake.commit(-1, load=mark(2), before=add_constraint)

    assert isinstance(result, Obstacle)
    assert "protocol" in result.reason
    assert lake.ids() == [1]


@pytest.mark.parametrize("same_load", [True, False])
def test_of_writers_that_race_each_load_is_committed_once(lake: Lake, same_load: bool) -> None:
    writers = 6
    start = threading.Barrier(writers)

    def write(number: int) -> AppliedJob | Obstacle:
        load = mark(1) if same_load else mark(1, f"shop {number}")
        return lake.commit(number, load=load, before=start.wait)

    with ThreadPoolExecutor(writers) as pool:
        results = list(pool.map(write, range(writers)))

    applied = [result for result in results if isinstance(result, AppliedJob)]
    assert len(applied) == (1 if same_load else writers)
    assert len(lake.ids()) == len(applied)
    assert sorted(result.version_after or 0 for result in applied) == list(range(len(applied)))


def test_checkpoints_keep_the_transactions(lake: Lake) -> None:
    for sequence in range(1, 13):
        lake.commit(sequence, load=mark(sequence))
    log = lake.folder / "items" / "_delta_log"
    for version in range(10):
        (log / f"{version:020}.json").unlink()

    assert (log / "_last_checkpoint").exists()
    assert lake.table().transaction_version("penstock/shop") == 12
    assert isinstance(lake.commit(5, load=mark(5)), Obstacle)
    assert lake.ids() == list(range(1, 13))


def test_a_commit_that_another_writer_replaces_is_lost(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.commit(1, load=mark(1))
    commit = DeltaLog.commit

    def replace_commit(log: DeltaLog, *arguments: Any) -> int:
        version = commit(log, *arguments)
        newest = lake.folder / "items" / "_delta_log" / f"{version:020}.json"
        newest.write_text(newest.read_text().replace("shop-2", "another"))
        return version

    monkeypatch.setattr(DeltaLog, "commit", replace_commit)

    with pytest.raises(CommitLost):
        lake.commit(2, load=mark(2))


def test_the_second_load_can_be_undone_to_the_first_files(lake: Lake) -> None:
    """The commit that creates an empty table is no version to return to; one with files is."""
    DeltaTable.create(
        str(lake.folder / "items"),
        Schema.from_json(SCHEMA.replace("false", "true")),
        commit_properties=CommitProperties(custom_metadata={"userMetadata": "prepared"}),
    )

    assert lake.commit(1, load=mark(1)) == AppliedJob(
        table="items", rows=1, version_before=None, version_after=1
    )


def test_readers_skip_files_by_their_statistics(lake: Lake) -> None:
    commit_files(
        lake.store,
        "items",
        lambda: lake.files([1, 2], [8, 9]),
        schema_json=SCHEMA,
        mark=mark(1),
        mode="append",
    )

    actions = lake.table().get_add_actions(flatten=True)
    bounds = zip(actions["min.id"].to_pylist(), actions["max.id"].to_pylist(), strict=True)
    assert sorted(bounds) == [(1, 2), (8, 9)]
    assert len(lake.table().file_uris(file_pruning_predicate="id > 5")) == 1


def test_what_is_no_file_of_a_table_is_refused(lake: Lake) -> None:
    files = lake.files([1], [])
    assert [file.rows for file in files] == [1], "a file without rows is left out"

    with pytest.raises(InternalError, match="cannot have a file"):
        commit_files(
            lake.store,
            "items",
            lambda: [type(files[0])(path="../elsewhere.parquet", size=1, rows=1)],
            schema_json=SCHEMA,
            mark=mark(1),
            mode="append",
        )


@pytest.mark.parametrize(
    ("location", "reason"),
    [("memory://lake", "credentials"), ("/lake/50%", "path"), ("gs://bucket/lake", "credentials")],
)
def test_other_storages_are_left_to_spark(location: str, reason: str) -> None:
    store = FileStorage("memory://lake")
    store.root = location

    result = commit_files(store, "items", list, schema_json=SCHEMA, mark=mark(1), mode="append")

    assert isinstance(result, Obstacle)
    assert reason in result.reason


def test_without_the_library_spark_writes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["penstock.destinations.delta"], "delta_log")
    monkeypatch.setitem(sys.modules, "penstock.destinations.delta.delta_log", None)

    result = lake.commit(1, load=mark(1), before=lambda: pytest.fail("written"))

    assert result == Obstacle("deltalake is not installed")


def test_where_spark_is_writing_in_this_process_spark_commits(lake: Lake) -> None:
    with COMMIT_GATE.statement(lake.store.path("items")):
        result = lake.commit(1, load=mark(1))

    assert result == Obstacle("Spark is writing to the table in this process")
    assert isinstance(lake.commit(1, load=mark(1)), AppliedJob)
    assert lake.ids() == [1]


def append_in_process(folder: str, number: int, loads: int) -> int:
    """Append loads of a pipeline, and try each load twice; return the number that were committed."""
    lake = Lake(Path(folder))
    results = [
        lake.commit(sequence, load=mark(sequence, f"shop {number // 2}"))
        for sequence in range(1, loads + 1)
        for _ in range(2)
    ]
    return sum(isinstance(result, AppliedJob) for result in results)


@pytest.mark.at_length
def test_of_processes_that_race_each_load_is_committed_once(lake: Lake) -> None:
    """Two processes for each of two pipelines: a load that is resumed while its first process still runs."""
    loads, processes = 4, 4

    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        arguments = ([str(lake.folder)] * processes, range(processes), [loads] * processes)
        committed = list(pool.map(append_in_process, *arguments))

    assert sum(committed) == 2 * loads
    assert lake.ids() == sorted([*range(1, loads + 1)] * 2)
    assert lake.table().version() == 2 * loads - 1
