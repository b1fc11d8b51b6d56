"""The mutable schema of the public API, a handle over immutable values."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import TableNotFound
from penstock.schema.contract import Contract, ContractSettings
from penstock.schema.dbml import to_dbml
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.document import parse_document, schema_document, to_json, to_yaml
from penstock.schema.frozen_map import FrozenMap
from penstock.schema.graphviz import to_dot
from penstock.schema.mermaid import to_mermaid
from penstock.schema.naming import NamingConvention, stored_naming_convention
from penstock.schema.stored_schema import StoredSchema, TStoredSchema, stamp_version
from penstock.schema.system_columns import with_root_key
from penstock.schema.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema.table import TTableSchema


class Schema:
    """A named set of tables.

    A handle over an immutable `StoredSchema`, which each change replaces: earlier values of `stored` do not
    change. `version` grows by one at the first change after the schema was read or saved, not at each change.
    Not safe for changes from several threads.

    Example:
        >>> schema = Schema("shop")
        >>> orders = schema.update_table({"name": "orders", "columns": {"id": {"data_type": "bigint"}}})
        >>> [table.name for table in schema.data_tables()]
        ['orders']
        >>> schema.version
        1
    """

    def __init__(self, name: str) -> None:
        self._last_saved: StoredSchema | None = None
        self._current = StoredSchema(name=name)
        self._stamped: StoredSchema | None = None

    @classmethod
    def from_stored(cls, stored: StoredSchema) -> Schema:
        """Return a handle for a stored schema, see `restore`."""
        schema = cls(stored.name)
        schema.restore(stored)
        return schema

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Schema:
        """Read a schema document, of dlt or of penstock."""
        return cls.from_stored(StoredSchema.from_dict(document))

    @classmethod
    def from_text(cls, text: str) -> Schema:
        """Read a schema document from YAML or JSON text."""
        return cls.from_dict(parse_document(text))

    def to_dict(
        self, *, remove_defaults: bool = False, remove_processing_hints: bool = False
    ) -> TStoredSchema:
        """Return the schema document with the current version and hash, see `schema_document`."""
        return schema_document(
            self.stored, remove_defaults=remove_defaults, remove_processing_hints=remove_processing_hints
        )

    def to_pretty_json(self, *, remove_defaults: bool = True, remove_processing_hints: bool = False) -> str:
        """Return the schema document as readable JSON."""
        return to_json(
            self.to_dict(remove_defaults=remove_defaults, remove_processing_hints=remove_processing_hints)
        )

    def to_pretty_yaml(self, *, remove_defaults: bool = True, remove_processing_hints: bool = False) -> str:
        """Return the schema document as readable YAML."""
        return to_yaml(
            self.to_dict(remove_defaults=remove_defaults, remove_processing_hints=remove_processing_hints)
        )

    def to_mermaid(self, *, hide_columns: bool = False, include_dlt_tables: bool = True) -> str:
        """Return a diagram of tables and relations in Mermaid."""
        return to_mermaid(self.stored, hide_columns=hide_columns, include_dlt_tables=include_dlt_tables)

    def to_dot(self, *, hide_columns: bool = False, include_dlt_tables: bool = True) -> str:
        """Return a diagram of tables and relations in Graphviz's DOT."""
        return to_dot(self.stored, hide_columns=hide_columns, include_dlt_tables=include_dlt_tables)

    def to_dbml(self, *, include_dlt_tables: bool = True) -> str:
        """Return the tables and relations in DBML."""
        return to_dbml(self.stored, include_dlt_tables=include_dlt_tables)

    def clone(self, *, with_name: str | None = None) -> Schema:
        """Return a copy; under another name it is a new schema without history."""
        if with_name is None or with_name == self.name:
            return copy(self)
        renamed = Schema(with_name)
        renamed.update(replace(self._current, imported_version_hash=None))
        return renamed

    @property
    def stored(self) -> StoredSchema:
        """The current value with its version and hash."""
        if self._stamped is None:
            # Not at each change: a thousand new tables would take a thousand hashes of the whole schema.
            self._stamped = stamp_version(self._current, previous=self._last_saved)
        return self._stamped

    @property
    def name(self) -> str:
        """The name, also in the pipeline state and in `_dlt_version`."""
        return self._current.name

    @property
    def version(self) -> int:
        """The number of stored versions, with the current one."""
        return self.stored.version

    @property
    def version_hash(self) -> str:
        """The hash of the content."""
        return self.stored.version_hash

    @property
    def previous_hashes(self) -> tuple[str, ...]:
        """Hashes of up to ten earlier versions, the latest first."""
        return self.stored.previous_hashes

    @property
    def is_new(self) -> bool:
        """Whether the schema was never stored."""
        return self._last_saved is None

    @property
    def is_modified(self) -> bool:
        """Whether the content differs from the saved version."""
        return self._last_saved is None or self._last_saved.version_hash != self.version_hash

    @property
    def naming(self) -> NamingConvention:
        """The naming convention, without the maximum length of a destination."""
        return stored_naming_convention(self._current.normalizers)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Detections, default hints, preferred types and the schema contract."""
        return self._current.settings

    def set_schema_contract(self, settings: ContractSettings | None) -> None:
        """Set the contract of tables that have none; None removes it."""
        Contract.from_settings(settings or None)
        others = FrozenMap(self._current.settings).without_keys("schema_contract")
        contract = {"schema_contract": settings} if settings else {}
        self._replace(replace(self._current, settings=others.with_items(contract)))

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables by name, with system tables."""
        return self._current.tables

    def data_tables(
        self, *, seen_data_only: bool = False, include_incomplete: bool = False
    ) -> tuple[Table, ...]:
        """Return the tables without system tables, and by default without those that have no typed column."""
        return tuple(
            table
            for table in self.tables.values()
            if not table.name.startswith(SYSTEM_PREFIX)
            and (include_incomplete or table.complete_columns())
            and (table.has_seen_data or not seen_data_only)
        )

    def get_table(self, name: str) -> Table:
        """Return a table; raise `TableNotFound` if it is unknown."""
        try:
            return self.tables[name]
        except KeyError:
            raise TableNotFound(table=name, schema=self.name) from None

    def update_table(self, table: Table | TTableSchema) -> Table:
        """Merge a table into the schema, see `Table.merged`, and return the merged table."""
        incoming = table if isinstance(table, Table) else Table.from_dict(table)
        if incoming.parent is not None:
            self.get_table(incoming.parent)
        stored_table = self.tables.get(incoming.name)
        merged = stored_table.merged(incoming) if stored_table else incoming.with_root_defaults()
        self._replace(with_root_key(self._current.with_tables([merged]), merged.name))
        return merged

    def drop_tables(self, names: Iterable[str]) -> tuple[Table, ...]:
        """Remove tables and return them; raise `TableNotFound` for an unknown name."""
        dropped = tuple(self.get_table(name) for name in names)
        self._replace(self._current.without_tables(*(table.name for table in dropped)))
        return dropped

    def update(self, stored: StoredSchema) -> None:
        """Replace the content; name and history are kept."""
        self._replace(replace(stored, name=self.name))

    def restore(self, stored: StoredSchema) -> None:
        """Replace content and history by those of a stored schema, as the last saved version.

        If its content does not match its hash, it counts as a new version.
        """
        self._current = self._last_saved = self._stamped = stamp_version(stored, previous=stored)

    def mark_saved(self) -> None:
        """Mark the current value as saved, so that the next change is a new version."""
        self._last_saved = self.stored

    def _replace(self, stored: StoredSchema) -> None:
        self._current, self._stamped = stored, None

    def __repr__(self) -> str:
        return f"Schema({self.name!r}, version={self.version}, tables={len(self.tables)})"
