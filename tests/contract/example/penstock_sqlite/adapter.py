"""The client of SQLite files and its background jobs; a job and its rows are one transaction.

A file `faults.json` in the folder makes jobs fail or hang, for tests of retries and recovery.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import threading
import time
import uuid
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import LoadClientTerminalException, LoadClientTransientException
from penstock.interfaces import (
    AppliedJob,
    FollowupJob,
    JobClientBase,
    LoadJob,
    NewLoadJob,
    ParsedLoadJobFileName,
    StateInfo,
    StorageSchemaInfo,
    TLoadJobState,
    WithStagingDataset,
    WithStateSync,
)
from penstock.package import load_package, read_job

from .types import sqlite_type, sqlite_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from penstock.interfaces import DestinationCapabilitiesContext
    from penstock.schema import Schema, TSchemaTables, TTableSchema, TWriteDisposition

    from .settings import SqliteConfiguration

_SYSTEM = """
CREATE TABLE IF NOT EXISTS _jobs (job_id TEXT PRIMARY KEY, state TEXT, attempts INTEGER, rows INTEGER,
                                  message TEXT);
CREATE TABLE IF NOT EXISTS _dlt_loads (load_id TEXT PRIMARY KEY, schema_name TEXT, inserted_at TEXT);
CREATE TABLE IF NOT EXISTS _dlt_version (version_hash TEXT PRIMARY KEY, schema_name TEXT, version INTEGER,
                                         engine_version INTEGER, inserted_at TEXT, schema TEXT);
CREATE TABLE IF NOT EXISTS _dlt_pipeline_state (_dlt_load_id TEXT PRIMARY KEY, version INTEGER,
                                                engine_version INTEGER, pipeline_name TEXT, state TEXT,
                                                created_at TEXT, version_hash TEXT);
"""


class SqliteClient(JobClientBase, WithStagingDataset, WithStateSync):
    """One SQLite file for each dataset, opened for a load."""

    config: SqliteConfiguration

    def __init__(
        self,
        schema: Schema,
        config: SqliteConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self.folder, self.spark = Path(config.folder), spark
        self.dataset = config.normalize_dataset_name(schema)

    @property
    def file(self) -> Path:
        return self.folder / f"{self.dataset}.sqlite"

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.file, timeout=60, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.file, timeout=60)) as connection:
            connection.executescript(_SYSTEM)
        with self.transaction() as connection:
            for table in truncate_tables or ():
                connection.execute(f"DELETE FROM {_quoted(table)}")

    def is_storage_initialized(self) -> bool:
        return self.file.exists()

    def drop_storage(self) -> None:
        self.file.unlink(missing_ok=True)
        with self.with_staging_dataset():
            self.file.unlink(missing_ok=True)

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        self.verify_schema(only_tables)
        applied: TSchemaTables = {}
        with self.transaction() as connection:
            for name in self.schema.tables if only_tables is None else only_tables:
                table = self.prepare_load_table(name)
                existing = {row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(name)})")}
                new = {key: column for key, column in table["columns"].items() if key not in existing}
                columns = [f"{_quoted(key)} {sqlite_type(new[key].get('data_type'))}" for key in new]
                if not existing:
                    connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(columns)})")
                for column in columns if existing else ():
                    connection.execute(f"ALTER TABLE {_quoted(name)} ADD COLUMN {column}")
                if new:
                    applied[name] = {**table, "columns": new}
            stored = self.schema.to_dict()
            connection.execute(
                "INSERT OR IGNORE INTO _dlt_version VALUES (?, ?, ?, ?, ?, ?)",
                (self.schema.version_hash, self.schema.name, self.schema.version, stored["engine_version"],
                 _now(), json.dumps(stored)),
            )  # fmt: skip
        return applied

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        name = ParsedLoadJobFileName.parse(file_path)
        self._record_attempt(name.job_id())
        if name.file_format == "sql":
            return PublishJob(self, name.file_name(), file_path)
        return RowsJob(self, name.file_name(), table, file_path)

    def restore_file_load(self, file_path: str) -> LoadJob:
        name = ParsedLoadJobFileName.parse(file_path)
        job = SqliteJob(self, name.file_name())
        if not job.is_known():
            raise LoadClientTransientException(f"job {name.job_id()} was never started")
        if job.state() != "running":
            return job
        # The process that ran it has died, and its transaction was rolled back.
        return self.start_file_load(self.prepare_load_table(name.table_name), file_path, "")

    def create_table_chain_completed_followup_jobs(
        self, table_chain: Sequence[TTableSchema]
    ) -> list[NewLoadJob]:
        if table_chain[0].get("write_disposition") not in self.get_stage_dispositions():
            return []
        return [PublishRequest(table_chain)]

    def complete_load(self, load_id: str) -> None:
        package_state: Any = load_package()["state"]
        state = package_state["pipeline_state"]
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO _dlt_pipeline_state VALUES (?, ?, ?, ?, ?, ?, ?)",
                (load_id, *(state[column.name] for column in fields(StateInfo)[:-1])),
            )
            connection.execute(
                "INSERT OR IGNORE INTO _dlt_loads VALUES (?, ?, ?)", (load_id, self.schema.name, _now())
            )

    def get_stored_schema(self) -> StorageSchemaInfo | None:
        columns = ", ".join(StorageSchemaInfo._fields)
        row = self._newest(f"SELECT {columns} FROM _dlt_version WHERE schema_name = ?", self.schema.name)
        stored = StorageSchemaInfo(*row) if row else None
        return stored and stored._replace(inserted_at=datetime.fromisoformat(str(stored.inserted_at)))

    def get_stored_state(self, pipeline_name: str) -> StateInfo | None:
        columns = ", ".join(column.name for column in fields(StateInfo))
        complete = "_dlt_load_id IN (SELECT load_id FROM _dlt_loads)"
        row = self._newest(
            f"SELECT {columns} FROM _dlt_pipeline_state WHERE pipeline_name = ? AND {complete}", pipeline_name
        )
        stored = StateInfo(*row) if row else None
        return stored and replace(stored, created_at=datetime.fromisoformat(str(stored.created_at)))

    def get_stage_dispositions(self) -> list[TWriteDisposition]:
        return ["replace", "merge"]

    @contextmanager
    def with_staging_dataset(self) -> Iterator[JobClientBase]:
        dataset, self.dataset = self.dataset, self.config.normalize_staging_dataset_name(self.schema)
        try:
            yield self
        finally:
            self.dataset = dataset

    def faults(self) -> dict[str, Any]:
        """Return the faults to inject."""
        file = self.folder / "faults.json"
        faults: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return faults

    def _record_attempt(self, job_id: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO _jobs VALUES (?, 'running', 0, NULL, NULL)", (job_id,))
            connection.execute("UPDATE _jobs SET attempts = attempts + 1 WHERE job_id = ?", (job_id,))

    def _newest(self, query: str, name: str) -> tuple[Any, ...] | None:
        with closing(sqlite3.connect(self.file, timeout=60)) as connection:
            row: tuple[Any, ...] | None = connection.execute(
                f"{query} ORDER BY rowid DESC LIMIT 1", (name,)
            ).fetchone()
        return row


class SqliteJob(LoadJob):
    """A job, read from the job log of its dataset."""

    def __init__(self, client: SqliteClient, file_name: str) -> None:
        super().__init__(file_name)
        # The client may select another dataset while the job runs.
        self._client, self._file = client, client.file

    def state(self) -> TLoadJobState:
        state: TLoadJobState = self._logged("state")
        return state

    def exception(self) -> str:
        return str(self._logged("message"))

    def applied(self) -> Sequence[AppliedJob]:
        return (AppliedJob(table=self.job_file_info().table_name, rows=self._logged("rows")),)

    def is_known(self) -> bool:
        return self._logged("state") is not None

    def attempts(self) -> int:
        return int(self._logged("attempts"))

    def _logged(self, column: str) -> Any:
        with closing(sqlite3.connect(self._file, timeout=60)) as connection:
            query = f"SELECT {column} FROM _jobs WHERE job_id = ?"
            row = connection.execute(query, (self.job_id(),)).fetchone()
        return row[0] if row else None


class BackgroundJob(SqliteJob):
    """A job that runs in a background thread."""

    def __init__(self, client: SqliteClient, file_name: str) -> None:
        super().__init__(client, file_name)
        if self.state() == "completed":
            return
        self._inject_error()
        self._log("running", None, None)
        threading.Thread(target=self._run, daemon=True).start()

    def _inject_error(self) -> None:
        faults, table = self._client.faults(), self.job_file_info().table_name
        if self.attempts() <= faults.get("transient", {}).get(table, 0):
            raise LoadClientTransientException(f"{table} is busy")
        if table in faults.get("terminal", ()):
            raise LoadClientTerminalException(f"{table} is closed")

    def _run(self) -> None:
        faults, table = self._client.faults(), self.job_file_info().table_name
        try:
            self._inject_timeout(faults.get("late", {}).get(table, 0))
            with closing(sqlite3.connect(self._file, timeout=60, isolation_level=None)) as connection:
                rows = self._write(connection)
                connection.execute(
                    "UPDATE _jobs SET state = 'completed', rows = ? WHERE job_id = ?", (rows, self.job_id())
                )
                if faults.get("hang") == f"{table}.{self.job_file_info().file_format}":
                    time.sleep(600)
                connection.execute("COMMIT")
        except Exception as error:
            self._log("retry", None, f"{type(error).__name__}: {error}")

    def _inject_timeout(self, times: int) -> None:
        if self.attempts() <= times:
            raise TimeoutError("the disk is slow")

    def _write(self, connection: sqlite3.Connection) -> int | None:
        """Begin a transaction, write in it, and return the number of rows."""
        raise NotImplementedError

    def _log(self, state: str, rows: int | None, message: str | None) -> None:
        with closing(sqlite3.connect(self._file, timeout=60)) as connection, connection:
            connection.execute(
                "UPDATE _jobs SET state = ?, rows = ?, message = ? WHERE job_id = ?",
                (state, rows, message, self.job_id()),
            )


class RowsJob(BackgroundJob, FollowupJob):
    """Loads the rows of a job file into their table."""

    def __init__(self, client: SqliteClient, file_name: str, table: TTableSchema, file_path: str) -> None:
        self._table, self._path = table, file_path
        super().__init__(client, file_name)

    def state(self) -> TLoadJobState:
        state = super().state()
        # A completed job that still reports `running`: the load must survive a crash in this state.
        hidden = state == "completed" and self._client.faults().get("hide") == self._table["name"]
        return "running" if hidden else state

    def _write(self, connection: sqlite3.Connection) -> int | None:
        if self._client.spark is None:
            raise LoadClientTerminalException("rows are read with Spark")
        frame = read_job(self._path).frame(self._client.spark)
        rows = [tuple(map(sqlite_value, row)) for row in frame.collect()]
        columns = ", ".join(map(_quoted, frame.columns))
        parameters = ", ".join("?" * len(frame.columns))
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            f"INSERT INTO {_quoted(self._table['name'])} ({columns}) VALUES ({parameters})", rows
        )
        return len(rows)


class PublishRequest(NewLoadJob):
    """Creates a job that moves a chain of tables from the staging dataset to the main one."""

    def __init__(self, table_chain: Sequence[TTableSchema]) -> None:
        name = ParsedLoadJobFileName(table_chain[0]["name"], uuid.uuid4().hex[:10], 0, "sql")
        super().__init__(name.file_name())
        self._path = Path(tempfile.mkdtemp(prefix="penstock-sqlite-")) / self.file_name()
        self._path.write_text(json.dumps(table_chain))

    def new_file_path(self) -> str:
        return str(self._path)

    def state(self) -> TLoadJobState:
        return "completed"

    def exception(self) -> str:
        return ""


class PublishJob(BackgroundJob):
    """Moves a chain of tables from the staging dataset to the main one, in one transaction."""

    def __init__(self, client: SqliteClient, file_name: str, file_path: str) -> None:
        self._chain: list[TTableSchema] = json.loads(Path(file_path).read_text())
        super().__init__(client, file_name)

    def applied(self) -> Sequence[AppliedJob]:
        return ()

    def _write(self, connection: sqlite3.Connection) -> int | None:
        with self._client.with_staging_dataset():
            connection.execute("ATTACH ? AS staging", (str(self._client.file),))
        connection.execute("BEGIN IMMEDIATE")
        for table in self._chain:
            name = _quoted(table["name"])
            connection.execute(f"DELETE FROM main.{name} WHERE {self._superseded(table)}")
            columns = ", ".join(map(_quoted, table["columns"]))
            connection.execute(f"INSERT INTO main.{name} ({columns}) SELECT {columns} FROM staging.{name}")
        return None

    def _superseded(self, table: TTableSchema) -> str:
        """Return the condition of superseded rows: all, those with a staged key, or orphaned ones."""
        if table["write_disposition"] == "replace":
            return "true"
        if "parent" in table:
            return f"_dlt_parent_id NOT IN (SELECT _dlt_id FROM main.{_quoted(table['parent'])})"
        key = _quoted(self._client.config.merge_key)
        return f"{key} IN (SELECT {key} FROM staging.{_quoted(table['name'])})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _now() -> str:
    return datetime.now(UTC).isoformat()
