"""The ledger of a dataset: its complete loads with their schemas and states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """A complete load: the row of `_dlt_loads`, with additional columns."""

    load_id: str
    schema_name: str
    schema_version_hash: str
    inserted_at: str
    status: int = 0
    pipeline_name: str | None = None
    sequence: int | None = None
    manifest_hash: str | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class CompleteLoad(NamedTuple):
    """The name of a complete load."""

    schema_name: str
    load_id: str


class LoadSnapshot(Protocol):
    """The complete loads of a dataset at one moment."""

    def last_loads(self) -> Mapping[str, str]:
        """Return the id of the newest load of each schema, in the order of their first loads."""

    def find(self, load_id: str) -> CommitRecord | None:
        """Return the commit of a load, whatever its schema; None if it is not complete."""

    def __contains__(self, load_id: object) -> bool:
        """Return whether a load was complete."""

    def loads(self) -> Sequence[CompleteLoad]:
        """Return the names of all complete loads, oldest first. Lists the whole ledger."""


class StorageSchemaInfo(NamedTuple):
    """A row of `_dlt_version`; `schema` is the JSON text of the stored document."""

    version_hash: str
    schema_name: str
    version: int
    engine_version: int
    inserted_at: datetime
    schema: str


class StateInfo(NamedTuple):
    """A row of `_dlt_pipeline_state`; `state` is the encoded document."""

    version: int
    engine_version: int
    pipeline_name: str
    state: str
    created_at: datetime
    version_hash: str | None = None
    dlt_load_id: str | None = None


class Ledger(Protocol):
    """The record of committed loads. A commit is one put-if-absent, after all other writes."""

    def initialize(self) -> None:
        """Create the dataset and its system tables if they do not exist."""

    def is_initialized(self) -> bool:
        """Return whether the dataset exists."""

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """Return the commit of a load, or None if it is not complete."""

    def last_commit(self, pipeline_name: str) -> CommitRecord | None:
        """Return the newest complete load of a pipeline."""

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """Return the names of all complete loads, oldest first. Lists the whole ledger."""

    def snapshot(self) -> LoadSnapshot:
        """Return the complete loads at this moment; the cost does not depend on their number."""

    def find_schema(self, *, schema_name: str, version_hash: str) -> StorageSchemaInfo | None:
        """Return a stored version of a schema."""

    def store_schema(self, row: StorageSchemaInfo) -> None:
        """Store a schema version as the newest. Idempotent."""

    def store_state(self, row: StateInfo, *, schema_hash: str) -> None:
        """Store a pipeline state; it counts once its load is committed."""

    def commit(self, record: CommitRecord) -> bool:
        """Complete a load. Return False if another process completed it."""

    def last_schema(self, schema_name: str | None = None) -> StorageSchemaInfo | None:
        """Return the newest stored version of a schema, or of any schema."""

    def last_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the newest state of a pipeline that belongs to a complete load."""

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return all rows of a system table, oldest first."""
