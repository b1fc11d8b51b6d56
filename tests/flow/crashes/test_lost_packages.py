"""A partial load whose package or rows were lost is never completed silently."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes.lakes import DELTA, catalog_at
from tests.flow.crashes.shop import expire_holder
from tests.flow.factories import CATALOG_CONF, new_session
from tests.step_failures import step_raises

import penstock
from penstock.destinations.delta.addressing import PathTables
from penstock.errors import CommitRolledBack, DestinationAhead, LoadClientJobFailed, PackageRootChanged
from penstock.interfaces import Destination
from penstock.package import Packages
from penstock.testing.cases import Crash, CrashingDestination

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

at_length = pytest.mark.at_length
FIRST, SECOND = ([{"id": number} for number in range(start, start + 5)] for start in (0, 5))


@dataclass(frozen=True)
class Half:
    """A dataset with two tables, and a load that crashes when the first one is written."""

    kind: str
    root: Path
    spark: SparkSession
    packages: str | None = None

    @property
    def destination(self) -> Destination:
        created: Destination = getattr(penstock.destinations, self.kind)(bucket_url=str(self.root / "lake"))
        return created

    def pipeline(self, destination: Destination | None = None) -> penstock.Pipeline:
        staging = None if self.packages is None else penstock.destinations.filesystem(self.packages)
        return penstock.pipeline(
            "half",
            pipelines_dir=self.root / "disk",
            destination=destination or self.destination,
            staging=staging,
            dataset_name="demo",
            spark=self.spark,
        )

    def run(self, rows: list[dict[str, Any]], destination: Destination | None = None) -> Any:
        names = ("first", "second")
        return self.pipeline(destination).run([penstock.resource(rows, name=name) for name in names])

    def die(self, *, is_noted: bool = False) -> None:
        """Load the first rows, then crash with the second ones in one of two tables."""
        self.run(FIRST)
        at, after = (2, False) if is_noted else (1, True)
        mortal = CrashingDestination(self.destination.reference, at=at, after=after)
        dying = Destination(self.kind, mortal, self.destination.arguments)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LOAD__WORKERS", "1")
            with pytest.raises(Crash):
                self.run(SECOND, dying)
        expire_holder(self.packages_of())

    def packages_of(self) -> Packages:
        beside = self.root / "lake"
        return Packages.at(f"{self.packages or beside}/demo/_dlt_pkg/half")

    def counts(self, table: str = "first") -> tuple[int, int]:
        """Return the number of rows, complete or not, and the number of distinct ones."""
        ids = [row[0] for row in self.pipeline().dataset(consistent=False)[table].select("id").fetchall()]
        return len(ids), len(set(ids))

    def loads(self) -> int:
        return len(self.pipeline().dataset().load_ids())

    @property
    def changed(self) -> str:
        """Return the table that has the rows of the crashed load."""
        return next(table for table in ("first", "second") if self.counts(table) == (10, 10))


@pytest.mark.parametrize(
    "kind", ["filesystem", *(pytest.param(kind, marks=at_length) for kind in ("delta", "iceberg"))]
)
def test_a_load_whose_package_was_lost_is_not_applied_twice(
    kind: str, tmp_path: Path, spark: SparkSession
) -> None:
    half = Half(kind, tmp_path, spark)
    half.die()
    shutil.rmtree(tmp_path / "lake" / "demo" / "_dlt_pkg")

    with step_raises(LoadClientJobFailed) as caught:
        half.run(SECOND)

    assert isinstance(caught.value.__cause__, DestinationAhead)
    assert half.counts(half.changed) == (10, 10)
    assert half.loads() == 1


def restore(half: Half, table: str, version: int | None) -> int:
    """Restore a table to a version, or to the previous one; return the version that it had."""
    if half.kind == "delta":
        session = new_session(half.spark, CATALOG_CONF)
        name = f"delta.`{half.root}/lake/demo/{table}`"
        (newest, *_) = session.sql(f"DESCRIBE HISTORY {name}").collect()
        back = newest["version"] - 1 if version is None else version
        session.sql(f"RESTORE TABLE {name} TO VERSION AS OF {back}")
        return int(newest["version"])
    session = new_session(half.spark, catalog_at(half.root / "lake"))
    name = f"other_reader.demo.{table}"
    result = session.sql(f"SELECT snapshot_id FROM {name}.history ORDER BY made_current_at DESC").collect()
    back = result[1][0] if version is None else version
    session.sql(f"CALL other_reader.system.set_current_snapshot('demo.{table}', {back})")
    return int(result[0][0])


@at_length
@pytest.mark.parametrize(("kind", "is_noted"), [("delta", True), ("delta", False), ("iceberg", True)])
def test_a_load_is_not_completed_after_one_of_its_tables_was_restored(
    kind: str, is_noted: bool, tmp_path: Path, spark: SparkSession
) -> None:
    half = Half(kind, tmp_path, spark)
    half.die(is_noted=is_noted)
    table = half.changed
    newest = restore(half, table, None)
    assert half.counts(table) == (5, 5)

    with step_raises(CommitRolledBack if is_noted else LoadClientJobFailed) as caught:
        half.run([])
    assert is_noted or isinstance(caught.value.__cause__, CommitRolledBack)
    assert half.loads() == 1
    restore(half, table, newest)
    half.run([])

    assert [half.counts(name) for name in ("first", "second")] == [(10, 10)] * 2
    assert half.loads() == 2


def test_a_table_created_before_its_rows_gets_them_on_retry(tmp_path: Path, spark: SparkSession) -> None:
    tried: list[str] = []

    @dataclass(frozen=True, slots=True)
    class FailingOnce(PathTables):
        def write(self, table: str, *arguments: Any) -> None:
            tried.append(table)
            if len(tried) == 2:
                raise OSError("the store does not answer")
            PathTables.write(self, table, *arguments)

    def once(tables: Any) -> Any:
        return replace(tables, addressing=FailingOnce(tables.addressing.store))

    lake = DELTA.destination(str(tmp_path / "lake"), once, table_properties={"team": "shop"})
    pipeline = penstock.pipeline(
        "anew", pipelines_dir=tmp_path / "disk", destination=lake, dataset_name="demo", spark=spark
    )
    pipeline.run(penstock.resource(FIRST, name="items"))
    shutil.rmtree(tmp_path / "lake" / "demo" / "items")

    info = pipeline.run(penstock.resource(SECOND, name="items"), refresh="drop_resources")

    assert tried == ["items"] * 3
    assert [table.rows for table in info.packages[0].tables if table.table == "items"] == [5]
    assert pipeline.dataset()["items"].count() == 5


@pytest.fixture
def moved(tmp_path: Path, spark: SparkSession) -> Callable[..., Half]:
    def at(packages: str | None) -> Half:
        return Half("delta", tmp_path, spark, None if packages is None else str(tmp_path / packages))

    return at


@at_length
def test_the_package_root_may_change_once_no_package_is_pending(
    moved: Callable[..., Half], monkeypatch: pytest.MonkeyPatch
) -> None:
    half = moved("a")
    half.die()
    with step_raises(PackageRootChanged, match="is not finished there"):
        moved("b").run([])
    with step_raises(PackageRootChanged):
        moved(None).run([])
    half.run([])
    moved("b").run([{"id": 10}])
    moved(None).run([{"id": 11}])

    assert half.counts() == (12, 12)
    shutil.rmtree(half.root / "lake" / "demo" / "_dlt_pkg")
    moved("c").run([{"id": 12}])
    shutil.move(half.root / "c", half.root / "d")
    moved("d").run([{"id": 13}])
    shutil.rmtree(half.root / "d")
    with step_raises(PackageRootChanged, match="nothing is found there"):
        moved("b").run([])
    monkeypatch.setenv("RUN__ACCEPT_PACKAGE_ROOT", "true")
    moved("b").run([{"id": 14}])
    monkeypatch.delenv("RUN__ACCEPT_PACKAGE_ROOT")
    moved("b").run([{"id": 15}])
    assert half.counts() == (16, 16)
