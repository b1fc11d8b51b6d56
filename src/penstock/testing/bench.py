"""The environment of a contract case: a destination, folders, and a reader of tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import PipelineStepFailed, TableNotFound
from penstock.pipeline.factory import pipeline
from penstock.sources.decorators import resource
from penstock.testing.documents import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.interfaces import Destination
    from penstock.load.report import LoadInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.schema import TTableSchema

    Read = Callable[[str, str], Sequence[Mapping[str, Any]]]

ROOT_TABLE = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A destination under test.

    `read` returns the rows of a table for the names of dataset and table; empty if the table does not exist.
    Without it, tables are read by `pipeline.dataset()`.
    """

    destination: Destination
    folder: Path
    """An empty folder for working folders."""
    spark: SparkSession | None = None
    read: Read | None = None
    packages_travel: bool = True
    """Whether another machine finds the packages: next to the tables, or in a `package_storage`."""
    hints: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of resources for this destination, such as a table format."""
    dataset_name: str = "contract"
    machine: str = "here"

    def of_case(self, name: str) -> Bench:
        """Return the bench with a dataset for one case."""
        return replace(self, dataset_name=f"{self.dataset_name}_{name.replace('-', '_')}")

    def elsewhere(self) -> Bench:
        """Return the bench on a new machine, which has no working folder."""
        return replace(self, machine=f"{self.machine}-another")

    def after_a_crash(self) -> Bench:
        """Return the bench on another machine, if that can continue pending packages."""
        return self.elsewhere() if self.packages_travel else self

    def with_destination(self, destination: Destination) -> Bench:
        """Return the bench with another configuration of the same tables."""
        return replace(self, destination=destination)

    def pipeline(self) -> Pipeline:
        """Return the pipeline of the case, as a new process creates it."""
        return pipeline(
            self.dataset_name,
            pipelines_dir=self.folder / self.machine,
            destination=self.destination,
            dataset_name=self.dataset_name,
            spark=self.spark,
        )

    def load(self, rows: Sequence[Mapping[str, Any]], **hints: Any) -> LoadInfo:
        """Load rows into the table of the case; raise the cause of a failed step, or for a failed job."""
        try:
            info = self.pipeline().run(resource(list(rows), name=ROOT_TABLE, **{**self.hints, **hints}))
        except PipelineStepFailed as failed:
            raise failed.exception from failed
        info.raise_on_failed_jobs()
        return info

    def resume(self) -> LoadInfo:
        """Load pending packages."""
        return self.pipeline().run()

    def applied_update(self, load_id: str) -> dict[str, TTableSchema]:
        """Return the tables and columns that a load has created or changed."""
        return dict(self.pipeline().get_load_package_info(load_id).schema_update)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return all rows of a table; timestamps as text, in UTC."""
        rows = self.read(self.dataset_name, table) if self.read else self._read(table)
        return [{name: _plain_value(value) for name, value in row.items()} for row in rows]

    def documents(self, *nested: str) -> dict[str, Any]:
        """Return the root table and its nested tables, by the last parts of their names."""
        tables = [ROOT_TABLE, *(f"{ROOT_TABLE}__{name}" for name in nested)]
        return documents({table: self.rows(table) for table in tables}, ROOT_TABLE)

    def _read(self, table: str) -> Sequence[Mapping[str, Any]]:
        try:
            rows = self.pipeline().dataset()[table].arrow().to_pylist()
        except TableNotFound:
            return ()
        return list(rows)


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat()
    return value
