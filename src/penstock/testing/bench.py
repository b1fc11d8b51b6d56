"""Where the cases of a contract suite run: a destination, a folder, a way to look at what was loaded."""

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

    Read = Callable[[str, str], Sequence[Mapping[str, Any]]]

ROOT_TABLE = "items"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One destination under test.

    `read` gives the rows of a table: it gets the name of the dataset and that of the table, and gives nothing
    where there is no such table. Without it the tables are read as users read them, by `pipeline.dataset()`.
    """

    destination: Destination
    folder: Path
    """An empty folder for what pipelines keep on this machine."""
    spark: SparkSession | None = None
    read: Read | None = None
    packages_travel: bool = True
    """Whether another machine finds the packages: beside the tables, or in a `package_storage`."""
    hints: Mapping[str, Any] = field(default_factory=dict)
    """What resources must say for this destination, such as a table format."""
    dataset_name: str = "contract"
    machine: str = "here"

    def of_case(self, name: str) -> Bench:
        """The bench with a dataset for one case alone."""
        return replace(self, dataset_name=f"{self.dataset_name}_{name.replace('-', '_')}")

    def elsewhere(self) -> Bench:
        """The bench on a machine that has never heard of the pipeline."""
        return replace(self, machine=f"{self.machine}-another")

    def after_a_crash(self) -> Bench:
        """The bench on another machine, where that can go on with what this one has left."""
        return self.elsewhere() if self.packages_travel else self

    def with_destination(self, destination: Destination) -> Bench:
        """The bench with another way to the same tables."""
        return replace(self, destination=destination)

    def pipeline(self) -> Pipeline:
        """The pipeline of the case, as a new process makes it."""
        return pipeline(
            self.dataset_name,
            pipelines_dir=self.folder / self.machine,
            destination=self.destination,
            dataset_name=self.dataset_name,
            spark=self.spark,
        )

    def load(self, rows: Sequence[Mapping[str, Any]], **hints: Any) -> LoadInfo:
        """Load rows into the table of the case; what a step fails with is raised as it is."""
        try:
            return self.pipeline().run(resource(list(rows), name=ROOT_TABLE, **{**self.hints, **hints}))
        except PipelineStepFailed as failed:
            raise failed.exception from failed

    def resume(self) -> LoadInfo:
        """Finish what is pending."""
        return self.pipeline().run()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table; moments as text, in UTC."""
        found = self.read(self.dataset_name, table) if self.read else self._read(table)
        return [{name: _plain_value(value) for name, value in row.items()} for row in found]

    def documents(self, *nested: str) -> dict[str, Any]:
        """The root table and those nested in it, by the last parts of their names."""
        tables = [ROOT_TABLE, *(f"{ROOT_TABLE}__{name}" for name in nested)]
        return documents({table: self.rows(table) for table in tables}, ROOT_TABLE)

    def _read(self, table: str) -> Sequence[Mapping[str, Any]]:
        try:
            found = self.pipeline().dataset()[table].arrow().to_pylist()
        except TableNotFound:
            return ()
        return list(found)


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat()
    return value
