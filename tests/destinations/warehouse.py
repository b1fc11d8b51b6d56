"""A destination of a third party that takes staging: JSON lines in folders, loaded from staged files.

Rows of replaced and merged tables go to a staging dataset first, from which a job moves each whole chain. It
has the capabilities that a test gives it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from penstock.config import configspec
from penstock.errors import LoadClientTransientException
from penstock.interfaces import (
    AppliedJob,
    Destination,
    DestinationCapabilitiesContext,
    DestinationClientDwhWithStagingConfiguration,
    FollowupJob,
    JobClientBase,
    LoadJob,
    NewLoadJob,
    ParsedLoadJobFileName,
    WithStagingDataset,
    configured,
)
from penstock.package import read_loader_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from penstock.interfaces import TLoadJobState
    from penstock.schema import Schema, TTableSchema, TWriteDisposition

UNAVAILABLE = "_unavailable"
"""A file with this name in the folder of a dataset makes the next copy fail once."""
REQUIRED: dict[str, Any] = {
    "supported_write_dispositions": ("append", "replace", "merge"),
    "supported_merge_strategies": ("delete-insert",),
    "supported_replace_strategies": ("insert-from-staging",),
    "max_identifier_length": 60,
    "max_column_identifier_length": 60,
    "has_case_sensitive_identifiers": True,
    "spark_needs": (),
}
STAGED: dict[str, Any] = {
    "preferred_loader_file_format": None,
    "supported_loader_file_formats": (),
    "preferred_staging_file_format": "parquet",
    "supported_staging_file_formats": ("parquet", "jsonl"),
}


@configspec
class WarehouseConfiguration(DestinationClientDwhWithStagingConfiguration):
    """The settings of a warehouse."""

    destination_name: str | None = "warehouse"
    folder: str = "warehouse"

    def __str__(self) -> str:
        return self.folder


@dataclass(frozen=True)
class WarehouseReference:
    """The destination reference that an entry point would name."""

    changed: dict[str, Any] = field(default_factory=dict)
    """Capabilities that a test sets."""

    def capabilities(self) -> DestinationCapabilitiesContext:
        return DestinationCapabilitiesContext(**{**REQUIRED, **self.changed})

    def client(
        self, schema: Schema, initial_config: Any = None, *, spark: SparkSession | None = None
    ) -> WarehouseClient:
        del spark
        return WarehouseClient(
            schema, configured(WarehouseConfiguration, initial_config), self.capabilities()
        )

    def spec(self) -> type[WarehouseConfiguration]:
        return WarehouseConfiguration


def warehouse(folder: Path | str = "warehouse", **capabilities: Any) -> Destination:
    """Return a warehouse with these capabilities."""
    return Destination("warehouse", WarehouseReference(capabilities), {"folder": str(folder)})


class WarehouseClient(JobClientBase, WithStagingDataset):
    """A folder for each dataset, and in it one for each table, with a file for each job."""

    config: WarehouseConfiguration

    def __init__(
        self,
        schema: Schema,
        config: WarehouseConfiguration,
        capabilities: DestinationCapabilitiesContext,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self.dataset = config.normalize_dataset_name(schema)

    @property
    def folder(self) -> Path:
        return Path(self.config.folder) / self.dataset

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for table in truncate_tables or ():
            shutil.rmtree(self.folder / table, ignore_errors=True)

    def is_storage_initialized(self) -> bool:
        return self.folder.exists()

    def drop_storage(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        if ParsedLoadJobFileName.parse(file_path).file_format == "sql":
            return TablesJob(self, file_path)
        return CopyJob(self, table, file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        # Copies and moves are idempotent.
        table = self.prepare_load_table(ParsedLoadJobFileName.parse(file_path).table_name)
        return self.start_file_load(table, file_path, "")

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[TTableSchema]
    ) -> list[NewLoadJob]:
        if table_chain[0]["write_disposition"] not in self.get_stage_dispositions():
            return []
        return [JobRequest("move", [table["name"] for table in table_chain])]

    def complete_load(self, load_id: str) -> None:
        (self.folder / "_loads").mkdir(exist_ok=True)
        (self.folder / "_loads" / load_id).touch()

    def get_stage_dispositions(self) -> list[TWriteDisposition]:
        return ["replace"]

    @contextmanager
    def with_staging_dataset(self) -> Iterator[JobClientBase]:
        dataset, self.dataset = self.dataset, self.config.normalize_staging_dataset_name(self.schema)
        try:
            yield self
        finally:
            self.dataset = dataset


_ARROW_FORMATS = {"parquet": "parquet", "jsonl": "json", "csv": "csv"}


class DoneJob(LoadJob):
    """A job that has done its work when it is made."""

    def state(self) -> TLoadJobState:
        return "completed"

    def exception(self) -> str:
        return ""


class CopyJob(DoneJob, FollowupJob):
    """Copies the rows of the files of a job; a job follows it that lists the files of its table."""

    def __init__(self, client: WarehouseClient, table: TTableSchema, file_path: str) -> None:
        name = ParsedLoadJobFileName.parse(file_path)
        super().__init__(name.file_name())
        files, folder = read_loader_files(file_path), client.folder / table["name"]
        if (client.folder / UNAVAILABLE).exists():
            (client.folder / UNAVAILABLE).unlink()
            raise LoadClientTransientException("the warehouse is closed")
        rows = ds.dataset(list(files.paths), format=_ARROW_FORMATS[files.file_format]).to_table()
        folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(row, default=str) for row in rows.to_pylist())
        (folder / f"{name.file_id}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        self._applied = AppliedJob(table=table["name"], rows=rows.num_rows)

    def applied(self) -> Sequence[AppliedJob]:
        return (self._applied,)

    def create_followup_jobs(self, final_state: TLoadJobState) -> Sequence[NewLoadJob]:
        table = self.job_file_info().table_name
        return [JobRequest("list", [table])] if final_state == "completed" else []


class JobRequest(DoneJob, NewLoadJob):
    """Creates the file of a job that lists the files of tables, or moves the tables."""

    def __init__(self, action: str, tables: Sequence[str]) -> None:
        name = ParsedLoadJobFileName(tables[0], uuid.uuid4().hex[:10], 0, "sql")
        super().__init__(name.file_name())
        self._path = Path(tempfile.mkdtemp(prefix="penstock-warehouse-")) / self.file_name()
        self._path.write_text(json.dumps({"action": action, "tables": list(tables)}))

    def new_file_path(self) -> str:
        return str(self._path)


class TablesJob(DoneJob):
    """Lists the files of a table, or replaces a chain of tables by those of the staging dataset."""

    def __init__(self, client: WarehouseClient, file_path: str) -> None:
        super().__init__(ParsedLoadJobFileName.parse(file_path).file_name())
        request = json.loads(Path(file_path).read_text())
        with client.with_staging_dataset():
            staged = client.folder
        for table in request["tables"]:
            if request["action"] == "list":
                # The files of a staged table are still there.
                folder = next(path for path in (staged / table, client.folder / table) if path.exists())
                names = sorted(path.name for path in folder.glob("*.jsonl"))
                (folder / "_files.json").write_text(json.dumps(names))
            else:
                shutil.rmtree(client.folder / table, ignore_errors=True)
                if (staged / table).exists():
                    shutil.copytree(staged / table, client.folder / table)


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table of a warehouse, without system columns."""
    lines = [
        line for path in sorted((folder / table).glob("*.jsonl")) for line in path.read_text().splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    return [{key: value for key, value in row.items() if not key.startswith("_dlt")} for row in rows]
