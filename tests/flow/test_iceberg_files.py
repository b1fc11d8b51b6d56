"""Files of small loads are committed to Iceberg tables once, without a Spark job."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import MODE
from tests.flow.factories import make_pipeline
from tests.flow.iceberg_dataset import ITEMS, IcebergDataset, mark, open_iceberg_dataset
from tests.flow.test_iceberg_once import Crash, at_step, commits_of, dying
from tests.flow.test_spark_job_count import jobs_so_far

import penstock
from penstock.destinations.iceberg.history import branch_name
from penstock.destinations.lake.flat_files import JobFiles
from penstock.errors import DestinationAhead, DestinationTerminalException
from penstock.package import DataFolder, FileStorage, JobFile, ParsedLoadJobFileName
from penstock.package.projection.model import Projection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.run import IcebergTables
    from penstock.interfaces import AppliedJob, LoadMark

pytestmark = pytest.mark.skipif(MODE == "connect", reason="over Connect Spark writes all Iceberg tables")


@dataclass
class FileLoads:
    """Loads of a table out of files of a package."""

    lake: IcebergDataset
    package: FileStorage

    def files(self, *ids: int, **columns: pa.Array) -> JobFiles:
        """Write the rows of a job: a column `id`, and text columns."""
        folder = f"data/{'-'.join(map(str, ids))}"
        rows = pa.table({"id": pa.array(ids, pa.int64()), **columns})
        with self.package.open_new(f"{folder}/part-0.parquet") as stream:
            pq.write_table(rows, stream)
        ddl = ", ".join(["`id` BIGINT", *(f"`{column}` STRING" for column in columns)])
        job = JobFile(
            name=ParsedLoadJobFileName("items", "x", 0, "reference"),
            load_id="17.5",
            package_path=self.package.root,
            data=DataFolder(path=folder),
            columns=ddl,
            projection=Projection(levels=()),
        )
        return JobFiles(job=job)

    def commit(
        self,
        files: JobFiles | None,
        load: LoadMark,
        *,
        tables: IcebergTables | None = None,
        replaces_rows: bool = False,
    ) -> AppliedJob | None:
        return (tables or self.lake.tables).commit_job_files(
            ITEMS, files, load, replaces_rows=replaces_rows, spark=self.lake.spark
        )

    def append(self, *ids: int, load: LoadMark, tables: IcebergTables | None = None) -> AppliedJob:
        applied = self.commit(self.files(*ids), load, tables=tables)
        assert applied is not None
        return applied


@pytest.fixture
def loads(location: str, spark: SparkSession, tmp_path: Path) -> Iterator[FileLoads]:
    with open_iceberg_dataset(location, spark) as lake:
        yield FileLoads(lake, FileStorage(str(tmp_path / "package")))


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("step", ["file", "commit"])
def test_a_process_killed_at_any_step_leads_to_one_commit(
    loads: FileLoads, step: str, *, is_new: bool
) -> None:
    lake = loads.lake
    if not is_new:
        loads.append(9, load=mark(1))
    with pytest.raises(Crash):
        loads.append(1, 2, load=mark(2), tables=dying(lake.tables, step))
    before = lake.lineage().commits()

    again = loads.append(1, 2, load=mark(2))
    once_more = loads.append(1, 2, load=mark(2))

    assert [item.load_id for item in before] == ["" if is_new else mark(1).load_id]
    assert (again.rows, again.skipped, once_more.skipped) == (2, False, True)
    assert once_more.version_after == again.version_after == lake.lineage().head
    assert lake.ids() == ([1, 2] if is_new else [1, 2, 9])
    assert commits_of(lake, 2) == 1
    assert set(lake.lineage().refs) == {"main", branch_name(mark(2))}


def test_two_attempts_of_one_load_make_one_commit(loads: FileLoads) -> None:
    lake = loads.lake
    loads.append(9, load=mark(1))
    others = (loads.append, lake.append, loads.append, lake.append)
    for sequence, other in enumerate(others, start=2):
        done: list[AppliedJob] = []
        act = partial(other, 1, load=mark(sequence))
        step = "file" if sequence < 4 else "commit"
        slow = at_step(lake.tables, step, lambda result=done, act=act: result.append(act()))  # type: ignore[misc]

        late = loads.append(1, load=mark(sequence), tables=slow)

        assert [item.version_after for item in done] == [late.version_after]
        assert late.skipped
        assert commits_of(lake, sequence) == 1
    assert lake.ids() == [1, 1, 1, 1, 9]


def test_an_attempt_of_spark_is_completed_by_spark(loads: FileLoads) -> None:
    lake = loads.lake
    loads.append(9, load=mark(1))
    with pytest.raises(Crash):
        lake.append(1, load=mark(2), tables=dying(lake.tables, "fast_forward"))

    assert loads.commit(loads.files(1), mark(2)) is None

    assert lake.append(1, load=mark(2)).version_after == lake.lineage().head
    assert lake.ids() == [1, 9]


def test_a_commit_of_another_writer_is_kept(loads: FileLoads) -> None:
    lake = loads.lake
    loads.append(9, load=mark(1))
    foreign = at_step(lake.tables, "commit", lambda: lake.append(5, load=mark(7, "other")))

    result = loads.append(1, load=mark(2), tables=foreign)

    assert not result.skipped
    assert lake.ids() == [1, 5, 9]
    assert [commit.load_id for commit in lake.lineage().commits()] == ["shop-2", "other-7", "shop-1"]


def test_a_table_refuses_an_aborted_load_and_an_earlier_one(loads: FileLoads) -> None:
    lake = loads.lake
    loads.append(9, load=mark(1))
    late = at_step(lake.tables, "commit", lambda: lake.tables.fence("items", mark(3), spark=lake.spark))

    with pytest.raises(DestinationTerminalException, match="rolled back"):
        loads.append(1, load=mark(3), tables=late)
    assert loads.append(4, load=mark(4)).rows == 1
    with pytest.raises(DestinationAhead):
        loads.append(1, load=mark(2))

    assert lake.ids() == [4, 9]


def test_marks_and_the_version_before_survive_an_expiry_of_snapshots(loads: FileLoads) -> None:
    lake = loads.lake
    loads.append(9, load=mark(1))
    done = loads.append(1, load=mark(2))
    loads.append(5, load=mark(7, "other"))

    lake.expire_all()

    assert loads.append(1, load=mark(2)).skipped
    held = lake.tables.read("items", done.version_before, spark=lake.spark)
    assert [row["id"] for row in held.collect()] == [9]


def test_rows_are_replaced_and_undone(loads: FileLoads) -> None:
    lake = loads.lake
    loads.append(1, 2, load=mark(1))

    replaced = loads.commit(loads.files(3), mark(2), replaces_rows=True)
    ids = [lake.ids()]
    emptied = loads.commit(None, mark(3), replaces_rows=True)
    ids.append(lake.ids())
    assert emptied is not None
    lake.tables.undo(emptied, mark(3).load_id, spark=lake.spark)

    assert replaced is not None
    assert (replaced.rows, emptied.rows) == (1, 0)
    assert [*ids, lake.ids()] == [[3], [], [3]]


def test_new_columns_are_added_and_files_have_bounds_by_which_readers_skip_them(loads: FileLoads) -> None:
    lake, names = loads.lake, pa.array(["a", "b"])
    loads.append(1, 2, load=mark(1))

    loads.commit(loads.files(7, 8, name=names), mark(2))
    lake.append(100, load=mark(3))

    rows = lake.tables.read("items", spark=lake.spark).orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(1, None), (2, None), (7, "a"), (8, "b"), (100, None)]
    files = lake.spark.table(f"{lake.tables.sql_name('items')}.files").orderBy("record_count").collect()
    bounds = [(row["readable_metrics"]["id"]["lower_bound"], row["record_count"]) for row in files]
    assert sorted(bounds) == [(1, 2), (7, 2), (100, 1)]


@pytest.mark.parametrize("commits", ["branch", "direct"])
def test_a_commit_is_one_version_of_the_table(
    location: str, spark: SparkSession, tmp_path: Path, commits: Any
) -> None:
    with open_iceberg_dataset(location, spark, commits=commits) as lake:
        loads = FileLoads(lake, FileStorage(str(tmp_path / "package")))
        first = loads.append(1, load=mark(1))
        versions = sorted(Path(location).glob("demo/items/metadata/*.metadata.json"))

        second = loads.append(2, load=mark(2))

        assert len(sorted(Path(location).glob("demo/items/metadata/*.metadata.json"))) == len(versions) + 1
        assert second.version_before == first.version_after
        branches = {branch_name(mark(2))} if commits == "branch" else set()
        assert set(lake.lineage().refs) == {"main", *branches}


def test_a_warm_append_of_four_tables_starts_no_spark_job(
    location: str, tmp_path: Path, spark: SparkSession
) -> None:
    rows = [{"id": n, "tags": ["a"], "lines": [{"sku": "x", "notes": ["y"]}]} for n in range(100)]
    pipeline = make_pipeline(location, tmp_path, spark, destination=penstock.destinations.iceberg)
    pipeline.run(rows, table_name="events")
    before = jobs_so_far(spark)

    pipeline.run(rows, table_name="events")

    jobs = jobs_so_far(spark) - before
    assert jobs == 0
    counts = {name: pipeline.dataset()[name].df().shape[0] for name in ("events", "events__lines__notes")}
    assert counts == {"events": 200, "events__lines__notes": 200}
