"""The ledger of a dataset: its complete loads with their schemas and states."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from penstock.schema.defaults import LOAD_ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from penstock.schema import NamingConvention


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
    undoes: tuple[str, ...] = ()
    """The loads that this one undid, oldest first."""

    def as_doc(self) -> dict[str, Any]:
        """Return the fields with their values, without `undoes` where it is empty."""
        return {key: value for key, value in asdict(self).items() if key != "undoes" or value}


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

    @classmethod
    def from_normalized_mapping(
        cls, normalized_doc: Mapping[str, Any], naming_convention: NamingConvention
    ) -> StorageSchemaInfo:
        """Return the row that a destination read, whose columns have the names of a convention."""
        return cls(*(normalized_doc[naming_convention.normalize_identifier(key)] for key in cls._fields))

    def to_normalized_mapping(self, naming_convention: NamingConvention) -> dict[str, Any]:
        """Return the row for a destination whose columns have the names of a convention.

        >>> from datetime import UTC, datetime
        >>> from penstock.schema import naming_convention
        >>> row = StorageSchemaInfo("hash", "shop", 1, 11, datetime(2026, 11, 15, tzinfo=UTC), "{}")
        >>> list(row.to_normalized_mapping(naming_convention("sql_ci_v1")))[:2]
        ['version_hash', 'schema_name']
        """
        return {naming_convention.normalize_identifier(key): value for key, value in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class StateInfo:
    """A row of `_dlt_pipeline_state`; `state` is the encoded document.

    >>> from datetime import UTC, datetime
    >>> row = StateInfo(1, 4, "shop", "{}", datetime(2026, 11, 15, tzinfo=UTC), _dlt_load_id="17.5")
    >>> row.as_doc()["_dlt_load_id"], "version_hash" in row.as_doc()
    ('17.5', False)
    """

    version: int
    engine_version: int
    pipeline_name: str
    state: str
    created_at: datetime
    version_hash: str | None = None
    _dlt_load_id: str | None = None

    @property
    def load_id(self) -> str | None:
        """The load that stored the row."""
        return self._dlt_load_id

    def as_doc(self) -> dict[str, Any]:
        """Return the columns with their values, without the last two where they have none."""
        optional = ("version_hash", LOAD_ID_COLUMN)
        return {key: value for key, value in asdict(self).items() if value is not None or key not in optional}

    @classmethod
    def from_normalized_mapping(
        cls, normalized_doc: Mapping[str, Any], naming_convention: NamingConvention
    ) -> StateInfo:
        """Return the row that a destination read, whose columns have the names of a convention."""
        document = {
            column.name: normalized_doc.get(
                naming_convention.normalize_identifier(column.name), column.default
            )
            for column in fields(cls)
        }
        missing = [key for key, value in document.items() if value is MISSING]
        if missing:
            raise KeyError(*missing)
        return cls(**document)


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
        """Return the newest state of a pipeline that belongs to a complete load.

        None if the dataset does not exist.
        """

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return all rows of a system table, oldest first."""
