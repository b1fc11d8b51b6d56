"""The ledger of a dataset: which loads are complete, and the schema and state that go with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRecord:
    """One complete load: the row of `_dlt_loads`, with our columns beside dlt's own."""

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
    """How a complete load is called."""

    schema_name: str
    load_id: str


class LoadSnapshot(Protocol):
    """The complete loads of a dataset at one moment. What is completed later is not among them."""

    def last_loads(self) -> Mapping[str, str]:
        """The id of the newest load of each schema; the schema that was loaded first comes first."""

    def find(self, load_id: str) -> CommitRecord | None:
        """The commit of a load, whatever its schema; None when it is not among the complete ones."""

    def __contains__(self, load_id: object) -> bool:
        """Whether a load was complete."""

    def loads(self) -> Sequence[CompleteLoad]:
        """The names of all complete loads, oldest first. Lists all that ever was."""


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
    """Says which loads count. A commit is one put-if-absent, made after everything else is in place."""

    def initialize(self) -> None:
        """Make the dataset and its system tables if they are not there."""

    def is_initialized(self) -> bool:
        """Whether anything was ever loaded here."""

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """The commit of one load, or None while it is not complete."""

    def last_commit(self, pipeline_name: str) -> CommitRecord | None:
        """The newest complete load of a pipeline."""

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """The names of all complete loads, oldest first. Lists all that ever was: no run asks for it."""

    def snapshot(self) -> LoadSnapshot:
        """The complete loads at this moment, at a cost that does not depend on their number."""

    def find_schema(self, *, schema_name: str, version_hash: str) -> StorageSchemaInfo | None:
        """One stored version of a schema."""

    def store_schema(self, row: StorageSchemaInfo) -> None:
        """Keep a schema version as the newest; keeping the same one twice changes nothing."""

    def store_state(self, row: StateInfo, *, schema_hash: str) -> None:
        """Keep a pipeline state; it counts only once its load is committed."""

    def commit(self, record: CommitRecord) -> bool:
        """Complete a load. False when somebody else had completed it."""

    def last_schema(self, schema_name: str | None = None) -> StorageSchemaInfo | None:
        """The newest stored version of one schema, or of any."""

    def last_state(self, pipeline_name: str) -> StateInfo | None:
        """The newest state of a pipeline that belongs to a complete load."""

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """All rows of a system table, oldest first."""
