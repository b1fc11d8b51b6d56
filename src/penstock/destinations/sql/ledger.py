"""The ledger of a dataset in a database: its system tables."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from penstock.destinations.sql.system_tables import SystemTables
from penstock.package.load_index import ListedSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.destinations.sql.connection import SqlDatabase
    from penstock.interfaces import CommitRecord, CompleteLoad, StateInfo, StorageSchemaInfo
    from penstock.interfaces.ledger import LoadSnapshot


class SqlLedger:
    """The ledger of one dataset; every call borrows a connection.

    The transaction of a load writes to the same tables by `SystemTables`.
    """

    def __init__(self, database: SqlDatabase, dataset: str) -> None:
        self._database, self._dataset = database, dataset

    def initialize(self) -> None:
        """Create the schema and the system tables if they do not exist."""
        with self._tables(writes=True) as tables:
            tables.create()

    def is_initialized(self) -> bool:
        """Return whether the dataset exists."""
        with self._tables() as tables:
            return tables.exist

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """Return the commit of a load; None before it is complete."""
        with self._tables() as tables:
            return tables.find_load(load_id, schema_name)

    def last_commit(self, pipeline_name: str) -> CommitRecord | None:
        """Return the commit of the newest complete load of a pipeline."""
        with self._tables() as tables:
            return tables.last_load(pipeline_name)

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """Return the names of all complete loads, oldest first."""
        with self._tables() as tables:
            return tables.loads()

    def snapshot(self) -> LoadSnapshot:
        """Return the complete loads at this moment."""
        return ListedSnapshot(tuple(self.complete_loads()), self)

    def find_schema(self, *, schema_name: str, version_hash: str) -> StorageSchemaInfo | None:
        """Return a stored version of a schema."""
        with self._tables() as tables:
            return tables.find_schema(schema_name, version_hash)

    def store_schema(self, row: StorageSchemaInfo) -> None:
        """Store a schema version as the newest. Idempotent."""
        with self._tables(writes=True) as tables:
            tables.insert_schema(row)

    def store_state(self, row: StateInfo, *, schema_hash: str) -> None:
        """Store a pipeline state; it counts once its load is committed."""
        del schema_hash
        with self._tables(writes=True) as tables:
            tables.insert_state(row)

    def commit(self, record: CommitRecord) -> bool:
        """Complete a load; return False if it was complete."""
        with self._tables(writes=True) as tables:
            if tables.find_load(record.load_id, record.schema_name) is not None:
                return False
            tables.insert_load(record)
            return True

    def last_schema(self, schema_name: str | None = None) -> StorageSchemaInfo | None:
        """Return the newest stored version of a schema, or of any schema."""
        with self._tables() as tables:
            return tables.find_schema(schema_name)

    def last_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the newest state of a pipeline that belongs to a complete load."""
        with self._tables() as tables:
            return tables.last_state(pipeline_name)

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return all rows of a system table, oldest first."""
        with self._tables() as tables:
            return tables.rows(table)

    @contextmanager
    def _tables(self, *, writes: bool = False) -> Iterator[SystemTables]:
        with self._database.connect() as connection:
            tables = SystemTables(connection, self._database.names(self._dataset))
            with connection.transaction() if writes else nullcontext():
                yield tables
