"""A dataset of Iceberg tables, used below the pipeline: loads are known by their marks."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.destinations.iceberg.addressing import IcebergCatalog
from penstock.destinations.iceberg.reference import ICEBERG
from penstock.destinations.iceberg.settings import IcebergConfiguration
from penstock.interfaces import LoadMark
from penstock.schema import Schema, Table
from penstock.spark.session import UserSession
from penstock.spark.session_pool import SessionPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from penstock.destinations.iceberg.adapter import IcebergClient
    from penstock.destinations.iceberg.history import SnapshotHistory
    from penstock.destinations.iceberg.run import IcebergTables
    from penstock.interfaces import AppliedJob
    from penstock.spark.iceberg_library import IcebergVersion

ITEMS = Table.from_dict({"name": "items", "columns": {"id": {"data_type": "bigint"}}})


def mark(sequence: int = 1, pipeline: str = "shop") -> LoadMark:
    return LoadMark(
        pipeline_name=pipeline, sequence=sequence, load_id=f"{pipeline}-{sequence}", manifest_hash="m"
    )


@dataclass
class IcebergDataset:
    """The tables of one dataset."""

    client: IcebergClient
    spark: SparkSession

    @property
    def tables(self) -> IcebergTables:
        return self.client.tables

    def append(self, *ids: int, load: LoadMark, tables: IcebergTables | None = None) -> AppliedJob:
        rows = self.spark.createDataFrame([(item,) for item in ids], "id BIGINT")
        return (tables or self.tables).append(ITEMS, rows, load, spark=self.spark)

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.tables.read("items", spark=self.spark).collect())

    def lineage(self) -> SnapshotHistory:
        return self.tables.read_history("items", spark=self.spark)

    def expire_all(self) -> None:
        moment = {"older_than": "TIMESTAMP '2100-01-01 00:00:00'", "retain_last": "1"}
        self.spark.sql(self.tables.addressing.call_statement("expire_snapshots", "items", **moment))


@contextmanager
def open_iceberg_dataset(location: str, spark: SparkSession, **settings: Any) -> Iterator[IcebergDataset]:
    """Open the dataset `demo` in a session of the pool."""
    config = IcebergConfiguration(bucket_url=location, dataset_name="demo", **settings)
    user = UserSession(spark=spark, is_connect=False, master="local[2]", origin="given")
    pool = SessionPool(user, ("iceberg",), config.session_conf())
    with pool.session() as own:
        own.conf.set("spark.sql.shuffle.partitions", "1")
        yield IcebergDataset(ICEBERG.client(Schema("shop"), config, spark=own), own)
    pool.close()


_STEPS: Final = {"put_file": "file", "commit_rows": "commit", "move_branch": "settling"}


class ObservedVersion:
    """A version of a table with a call before each change."""

    def __init__(self, version: IcebergVersion, on_step: Callable[[str], None]) -> None:
        self._version, self._on_step = version, on_step

    def __getattr__(self, name: str) -> Any:
        if name in _STEPS:
            self._on_step(_STEPS[name])
        return getattr(self._version, name)


@dataclass(frozen=True, kw_only=True)
class ObservedCatalog(IcebergCatalog):
    """A catalog with a call before each step of a commit."""

    on_step: Callable[[str, str], None]

    def open_version(self, table: str, *, spark: SparkSession) -> IcebergVersion | None:
        version = IcebergCatalog.open_version(self, table, spark=spark)
        return version and cast("IcebergVersion", ObservedVersion(version, partial(self._step, table)))

    def _step(self, table: str, step: str) -> None:
        self.on_step(step, table)

    def create_branch_statement(self, table: str, branch: str, version: int | None) -> str:
        self.on_step("branch", table)
        return IcebergCatalog.create_branch_statement(self, table, branch, version)

    def branch_sql_name(self, table: str, branch: str) -> str:
        self.on_step("write", table)
        return IcebergCatalog.branch_sql_name(self, table, branch)

    def drop_branch_statement(self, table: str, branch: str) -> str:
        self.on_step("drop", table)
        return IcebergCatalog.drop_branch_statement(self, table, branch)

    def expire_branch_statement(self, table: str, branch: str, version: int) -> str:
        self.on_step("settling", table)
        return IcebergCatalog.expire_branch_statement(self, table, branch, version)

    def call_statement(self, procedure: str, table: str, **arguments: str) -> str:
        self.on_step(procedure, table)
        return IcebergCatalog.call_statement(self, procedure, table, **arguments)


def with_step_callback(tables: IcebergTables, on_step: Callable[[str, str], None]) -> IcebergTables:
    """Return the tables, with a call before each step of a commit: its kind and its table."""
    options = {
        name: getattr(tables.addressing, name) for name in ("catalog", "dataset", "conf", "is_managed")
    }
    return replace(tables, addressing=ObservedCatalog(**options, on_step=on_step))
