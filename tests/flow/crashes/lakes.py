"""The tables of the crash tests, by format and writer: observed steps, and their content for a reader."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tests.flow.crashes.steps import ObservedTables, Steps
from tests.flow.factories import CATALOG_CONF, QUICK_CONF, new_session
from tests.flow.iceberg_dataset import with_step_callback

from penstock.destinations.delta.reference import DeltaReference
from penstock.destinations.iceberg.history import MANIFEST, SEQUENCE
from penstock.destinations.iceberg.reference import IcebergReference
from penstock.interfaces import Destination

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.lake.client import LakeClient
    from penstock.destinations.lake.reference import LakeReference

_OTHER_CATALOG: Final = "other_reader"
DRIVER_ROWS: Final = "NORMALIZE__DRIVER_ROWS"


class ChangedReference:
    """A table format with changed tables."""

    def __init__(self, reference: LakeReference[Any, Any], change: Callable[[Any], Any]) -> None:
        self._reference, self._change = reference, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reference, name)

    def client(self, *arguments: Any, **options: Any) -> LakeClient:
        client: Any = self._reference.client(*arguments, **options)
        client._tables = self._change(client.tables)
        return client  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Lake:
    """One table format, with the settings that choose its writer."""

    name: str
    format: str
    reference: Callable[[], LakeReference[Any, Any]]
    sign: str
    """The folder that every table has."""
    can_move: bool
    """Whether a copied table can be read. Iceberg tables name their files by the whole path."""
    kills: tuple[str, ...] = ()
    """Steps of this format at which a driver is killed, besides those of all formats."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    driver_rows: int = 0
    """The rows of small tables that the driver writes; without them Spark writes every file."""

    def destination(
        self, location: str, change: Callable[[Any], Any] = lambda tables: tables, **settings: Any
    ) -> Destination:
        given = {"bucket_url": location, **self.settings, **settings}
        # Each run has its own reference, as in a process of its own: locks of one must not stop the other.
        return Destination(self.format, ChangedReference(self.reference(), change), given)

    def destination_with_steps(self, steps: Steps, location: str, **settings: Any) -> Destination:
        """Return the destination of a run whose commits are steps."""
        return self.destination(location, partial(with_observed_commits, steps=steps), **settings)

    def frames(self, dataset: Path, spark: SparkSession) -> dict[str, DataFrame]:
        """Return the tables of a dataset, read by a session without penstock."""
        tables = sorted(entry.name for entry in dataset.iterdir() if (entry / self.sign).is_dir())
        if self.format == "delta":
            own = new_session(spark, QUICK_CONF | CATALOG_CONF)
            return {name: own.read.format("delta").load(str(dataset / name)) for name in tables}
        own = new_session(spark, QUICK_CONF | catalog_at(dataset.parent))
        return {name: own.table(f"{_OTHER_CATALOG}.`{dataset.name}`.`{name}`") for name in tables}

    def marks(self, dataset: Path, table: str, spark: SparkSession) -> Iterable[tuple[int, str, int]]:
        """Return sequence number, manifest and version of each load commit of a table."""
        if self.format == "delta":
            return _marks_in_log(dataset / table)
        own = new_session(spark, QUICK_CONF | catalog_at(dataset.parent))
        name = f"{_OTHER_CATALOG}.`{dataset.name}`.`{table}`"
        result = own.sql(
            f"SELECT summary, snapshot_id FROM {name}.snapshots WHERE snapshot_id IN "
            f"(SELECT snapshot_id FROM {name}.history WHERE is_current_ancestor)"
        )
        commits = [(row["summary"], row["snapshot_id"]) for row in result.collect()]
        return [
            (int(commit[SEQUENCE]), commit[MANIFEST], version)
            for commit, version in commits
            if MANIFEST in commit
        ]


def driver_rows_of(name: str | None) -> str:
    """Return the number of rows that the driver writes, for the lake of a test; 0 for other tests."""
    return str(LAKES[name].driver_rows if name in LAKES else 0)


def with_observed_commits(tables: Any, steps: Steps) -> ObservedTables:
    """Return tables with a step before and after each commit, and within commits that have steps."""
    if hasattr(tables, "commit_mode"):
        tables = with_step_callback(tables, lambda step, table: steps.reach(f"before {step} of {table}"))
    return ObservedTables(tables, steps)


def catalog_at(warehouse: Path) -> dict[str, str]:
    """Return the settings of an Iceberg catalog by path, under a name that penstock does not use."""
    name = f"spark.sql.catalog.{_OTHER_CATALOG}"
    return {
        name: "org.apache.iceberg.spark.SparkCatalog",
        f"{name}.type": "hadoop",
        f"{name}.warehouse": str(warehouse),
        f"{name}.cache-enabled": "false",
    }


def _marks_in_log(table: Path) -> Iterator[tuple[int, str, int]]:
    for log in sorted((table / "_delta_log").glob("*.json")):
        for line in log.read_text(encoding="utf-8").splitlines():
            options = json.loads(json.loads(line).get("commitInfo", {}).get("userMetadata") or "{}")
            if "sequence" in options:
                yield options["sequence"], options["manifest"], int(log.stem)


DELTA: Final = Lake(
    "delta",
    "delta",
    DeltaReference,
    sign="_delta_log",
    can_move=True,
    settings={"commit_by_reference": False},
)
DELTA_FILES: Final = replace(
    DELTA, name="delta_files", settings={"commit_by_reference": True}, driver_rows=20_000
)
"""Delta tables whose files are committed by reference; the driver writes those of small appended tables."""
ICEBERG: Final = Lake(
    "iceberg",
    "iceberg",
    IcebergReference,
    sign="metadata",
    can_move=False,
    kills=(
        r"before branch of orders__lines",
        r"before write of orders__lines",
        r"before fast_forward of orders__lines",
        r"before fast_forward of events",
        r"before drop of events",
        r"before settling of events",
    ),
)
ICEBERG_FILES: Final = replace(
    ICEBERG,
    name="iceberg_files",
    driver_rows=20_000,
    kills=(
        r"before file of events",
        r"before commit of events",
        r"before settling of events",
    ),
)
"""Iceberg tables to which the driver commits the files of small appended tables."""
LAKES: Final = {lake.name: lake for lake in (DELTA, DELTA_FILES, ICEBERG, ICEBERG_FILES)}
