"""A dataset of Delta tables, used below the pipeline: loads are known by their marks."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.destinations.delta.addressing import PathTables
from penstock.destinations.delta.reference import DELTA
from penstock.destinations.delta.settings import DeltaConfiguration
from penstock.interfaces import LoadMark
from penstock.schema import Schema, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row, SparkSession

    from penstock.destinations.delta.adapter import DeltaClient
    from penstock.destinations.delta.run import DeltaTables
    from penstock.interfaces import AppliedJob

ITEMS = Table.from_dict(
    {"name": "items", "columns": {"id": {"data_type": "bigint"}, "_dlt_load_id": {"data_type": "text"}}}
)


def mark(sequence: int = 1, pipeline: str = "shop") -> LoadMark:
    """Return the mark of a load. As in real loads, its load id is a timestamp; this one is in the past."""
    return LoadMark(
        pipeline_name=pipeline,
        sequence=sequence,
        load_id=f"{1_600_000_000 + sequence}.5",
        manifest_hash=f"{pipeline}-{sequence}",
    )


@dataclass
class DeltaDataset:
    """The tables of one dataset, and a session with Delta."""

    location: str
    spark: SparkSession
    commit_by_reference: bool = True

    @property
    def client(self) -> DeltaClient:
        """A client whose settings have no table properties."""
        config = DeltaConfiguration(
            bucket_url=self.location, dataset_name="demo", commit_by_reference=self.commit_by_reference
        )
        return DELTA.client(Schema("shop"), config, spark=self.spark)

    @property
    def tables(self) -> DeltaTables:
        """The tables of the dataset."""
        return self.client.tables

    @property
    def name(self) -> str:
        """The name of the table in SQL."""
        return self.tables.sql_name("items")

    @property
    def log(self) -> Path:
        """The folder of the table's log."""
        return Path(self.location) / "demo" / "items" / "_delta_log"

    def append(self, *ids: int, load: LoadMark, tables: DeltaTables | None = None) -> AppliedJob:
        """Append rows of a load."""
        rows = self.spark.createDataFrame(
            [(item, load.load_id) for item in ids], "id BIGINT, _dlt_load_id STRING"
        )
        return (tables or self.tables).append(ITEMS, rows, load, spark=self.spark)

    def ids(self) -> list[int]:
        """Return the ids of all rows."""
        return sorted(row["id"] for row in self.tables.read("items", spark=self.spark).collect())

    def history(self) -> list[Row]:
        """Return the commits, newest first."""
        return self.spark.sql(f"DESCRIBE HISTORY {self.name}").collect()

    def restore(self, version: int) -> None:
        """Restore the table as an operator does."""
        self.spark.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {version}")

    def forget_history(self) -> None:
        """Delete the log up to the newest checkpoint, as Delta does after the retention of its log."""
        for _ in range(10):
            self.spark.sql(f"INSERT INTO {self.name} VALUES (99, 'other')")
        newest = max(int(path.name.split(".")[0]) for path in self.log.glob("*.checkpoint*.parquet"))
        for path in self.log.iterdir():
            number = path.name.split(".")[0].lstrip(".")
            if number.isdigit() and int(number) < newest:
                path.unlink()

    def with_write_callback(self, change: Callable[[str], None]) -> DeltaTables:
        """Return the tables as Spark commits them, with a call after each write."""
        addressing = PathTablesWithCallback(self.tables.addressing.store, change)  # type: ignore[union-attr]  # tables by path
        return replace(self.tables, addressing=addressing, commits_by_reference=False)

    def overwrite_last_commit(self, _: str) -> None:
        """Overwrite the newest commit with one of another writer, as some stores allow."""
        newest = max(self.log.glob("*.json"))
        lines = [json.loads(line) for line in newest.read_text().splitlines()]
        for line in lines:
            line.get("commitInfo", {}).pop("userMetadata", None)
        newest.write_text("\n".join(json.dumps(line) for line in lines))
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class PathTablesWithCallback(PathTables):
    """Tables by path, with a call after each write."""

    after_write: Callable[[str], None]

    def write(self, table: str, *arguments: Any) -> None:
        """Write rows, then call."""
        PathTables.write(self, table, *arguments)
        self.after_write(table)
