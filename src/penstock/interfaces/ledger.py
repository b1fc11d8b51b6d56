"""The ledger of a dataset: which loads are complete, and the schema and state that go with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSchemaRow:
    """A row of `_dlt_version`; `schema` is the JSON text of the stored document."""

    version: int
    engine_version: int
    inserted_at: str
    schema_name: str
    version_hash: str
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """A row of `_dlt_pipeline_state`; `state` is the encoded document."""

    version: int
    engine_version: int
    pipeline_name: str
    state: str
    created_at: str
    version_hash: str
    load_id: str


class Ledger(Protocol):
    """Says which loads count. A commit is one put-if-absent, made after everything else is in place."""

    def initialize(self) -> None:
        """Make the dataset and its system tables if they are not there."""

    def is_initialized(self) -> bool:
        """Whether anything was ever loaded here."""

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """The commit of one load, or None while it is not complete."""

    def store_schema(self, row: StoredSchemaRow) -> None:
        """Keep a schema version; keeping the same one twice changes nothing."""

    def store_state(self, row: StoredState, *, schema_hash: str) -> None:
        """Keep a pipeline state; it counts only once its load is committed."""

    def commit(self, record: CommitRecord) -> bool:
        """Complete a load. False when somebody else had completed it."""

    def last_schema(self, schema_name: str | None = None) -> StoredSchemaRow | None:
        """The newest stored version of one schema, or of any."""

    def last_state(self, pipeline_name: str) -> StoredState | None:
        """The newest state of a pipeline that belongs to a complete load."""

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """All rows of a system table, oldest first."""
