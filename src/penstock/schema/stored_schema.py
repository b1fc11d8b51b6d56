"""Schemas as immutable values, their documents, which dlt reads too, and their versions."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from hashlib import sha3_256
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

import orjson

from penstock.errors import InvalidSchemaName
from penstock.schema.defaults import DEFAULT_NORMALIZERS, DEFAULT_SETTINGS, SYSTEM_TABLES
from penstock.schema.frozen_map import FrozenMap, freeze, thaw
from penstock.schema.migrations import ENGINE_VERSION, migrate_document
from penstock.schema.table import Table, TTableSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_NAME_LENGTH: Final = 64
_SCALAR_KEYS: Final = ("version", "version_hash", "engine_version", "name", "imported_version_hash")
_NESTED_KEYS: Final = ("settings", "normalizers", "previous_hashes")
MAX_PREVIOUS_HASHES: Final = 10
_VERSION_KEYS: Final = ("version", "version_hash", "imported_version_hash", "previous_hashes")


class TStoredSchema(TypedDict, total=False):
    """A schema document, as the public API accepts and returns it."""

    version: int
    version_hash: str
    engine_version: int
    name: str
    description: str
    tables: dict[str, TTableSchema]
    settings: dict[str, Any]
    normalizers: dict[str, Any]
    previous_hashes: list[str]
    imported_version_hash: str


def check_schema_name(name: str) -> str:
    """Return a valid name: a Python identifier of at most 64 characters; else raise `InvalidSchemaName`."""
    if not name.isidentifier() or len(name) > MAX_NAME_LENGTH:
        raise InvalidSchemaName(name=name)
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSchema:
    """An immutable schema.

    `version`, `version_hash` and `previous_hashes` are set by `stamp_version`; copies made by `with_…` still
    have those of the original. `extras` has all other keys of the document.
    """

    name: str
    tables: Mapping[str, Table] = field(default=SYSTEM_TABLES)
    settings: Mapping[str, Any] = field(default=DEFAULT_SETTINGS)
    normalizers: Mapping[str, Any] = field(default=DEFAULT_NORMALIZERS)
    version: int = 1
    version_hash: str = ""
    engine_version: int = ENGINE_VERSION
    previous_hashes: tuple[str, ...] = ()
    imported_version_hash: str | None = None
    extras: Mapping[str, Any] = field(default=FrozenMap[Any]())

    def __post_init__(self) -> None:
        check_schema_name(self.name)
        object.__setattr__(self, "tables", FrozenMap(self.tables))
        for name in ("settings", "normalizers", "extras", "previous_hashes"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> StoredSchema:
        """Read a document of this engine version or an older one, without a check of its version hash.

        Missing system tables are added, and defaults of root tables filled in.
        """
        current = migrate_document(document)
        fields = {key: current[key] for key in (*_SCALAR_KEYS, *_NESTED_KEYS) if current.get(key) is not None}
        tables = {name: _table(name, table) for name, table in current["tables"].items()}
        extras = {key: value for key, value in current.items() if key not in fields and key != "tables"}
        missing = {name: table for name, table in SYSTEM_TABLES.items() if name not in tables}
        return cls(**fields, tables={**tables, **missing}, extras=extras)

    def to_dict(self) -> TStoredSchema:
        """Return the document, which the caller may change."""
        document = {key: value for key in _SCALAR_KEYS if (value := getattr(self, key)) is not None}
        document["tables"] = {name: table.to_dict() for name, table in self.tables.items()}
        document |= {key: thaw(getattr(self, key)) for key in _NESTED_KEYS}
        return cast("TStoredSchema", {**document, **thaw(self.extras)})

    def with_tables(self, tables: Iterable[Table]) -> StoredSchema:
        """Return a copy with tables replaced in their position, or added at the end."""
        return replace(self, tables={**self.tables, **{table.name: table for table in tables}})

    def without_tables(self, *names: str) -> StoredSchema:
        """Return a copy without these tables."""
        return replace(self, tables=FrozenMap(self.tables).without_keys(*names))

    def with_settings(self, **settings: Any) -> StoredSchema:
        """Return a copy with settings, such as `schema_contract` or `preferred_types`."""
        return replace(self, settings={**self.settings, **settings})

    def with_normalizers(self, **normalizers: Any) -> StoredSchema:
        """Return a copy with normalizers, such as `names`."""
        return replace(self, normalizers={**self.normalizers, **normalizers})


def _table(name: str, document: Mapping[str, Any]) -> Table:
    return Table.from_dict(document, name=name).with_root_defaults()


def content_hash(stored: StoredSchema) -> str:
    """Return the hash of a schema without its version and history, the same as dlt's.

    The order of tables does not matter; the order of columns does, because destinations keep it.
    """
    document = stored.to_dict()
    content = {key: value for key, value in document.items() if key not in _VERSION_KEYS}
    digest = sha3_256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    for name in sorted(stored.tables):
        digest.update(name.encode())
        for column in stored.tables[name].columns:
            digest.update(column.encode())
    return base64.b64encode(digest.digest()).decode("ascii")


def stamp_version(stored: StoredSchema, *, previous: StoredSchema | None) -> StoredSchema:
    """Return `stored` with version, hash and history as the successor of `previous`.

    The version grows by one, however many changes there are, and not at all if the content is the same. A
    schema without a previous one has version 1 and no history.
    """
    version_hash = content_hash(stored)
    if previous is None:
        return replace(stored, version=1, version_hash=version_hash, previous_hashes=())
    if version_hash == previous.version_hash:
        return replace(
            stored,
            version=previous.version,
            version_hash=version_hash,
            previous_hashes=previous.previous_hashes,
        )
    history = previous.previous_hashes
    if previous.version_hash not in history:
        history = (previous.version_hash, *history)[:MAX_PREVIOUS_HASHES]
    version = previous.version + 1
    return replace(stored, version=version, version_hash=version_hash, previous_hashes=history)
