"""The mutable schema of the public API, a handle over immutable values."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from penstock.errors import TableNotFound, UsageError
from penstock.pages.elements import element
from penstock.pages.page import notebook_fragment
from penstock.schema.contract import Contract, ContractSettings, effective_contract
from penstock.schema.dbml import to_dbml
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.destination_names import destination_names
from penstock.schema.document import (
    parse_document,
    schema_document,
    to_json,
    to_yaml,
    without_processing_hints,
)
from penstock.schema.frozen_map import FrozenMap
from penstock.schema.graphviz import to_dot
from penstock.schema.html_diagram import to_html_diagram
from penstock.schema.mermaid import to_mermaid
from penstock.schema.migrations import ENGINE_VERSION
from penstock.schema.naming import NamingConvention, stored_naming_convention
from penstock.schema.observation import DETECTIONS, Detection
from penstock.schema.patterns import NOT_NULL, REGEX_PREFIX, NamePatterns
from penstock.schema.relations import relations
from penstock.schema.stored_schema import StoredSchema, TStoredSchema, stamp_version
from penstock.schema.system_columns import with_root_key
from penstock.schema.table import Table
from penstock.schema.types import DataType, parse_data_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.table import TTableSchema


class Schema:
    """A named set of tables.

    A handle over an immutable `StoredSchema`, which each change replaces: earlier values of `stored` do not
    change. `version` grows by one at the first change after the schema was read or saved, not at each change.
    Not safe for changes from several threads. While a pipeline is active, a new schema has the naming
    convention and the longest name of its destination.

    Example:
        >>> schema = Schema("shop")
        >>> orders = schema.update_table({"name": "orders", "columns": {"id": {"data_type": "bigint"}}})
        >>> schema.data_table_names(), schema.tables["orders"]["columns"]["id"]["data_type"]
        (['orders'], 'bigint')
        >>> schema.version
        1
    """

    ENGINE_VERSION: ClassVar[int] = ENGINE_VERSION

    def __init__(self, name: str, normalizers: Mapping[str, Any] | None = None) -> None:
        names = destination_names()
        own = {} if names.convention is None else {"names": names.convention}
        self._max_name_length = names.max_length
        self._last_saved: StoredSchema | None = None
        self._current = StoredSchema(name=name).with_normalizers(**{**own, **(normalizers or {})})
        self._stamped: StoredSchema | None = None

    @classmethod
    def from_stored(cls, stored: StoredSchema, *, bump_version: bool = True) -> Schema:
        """Return a handle for a stored schema, see `restore`."""
        schema = cls(stored.name)
        schema.restore(stored, bump_version=bump_version)
        return schema

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        remove_processing_hints: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
        bump_version: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Schema:
        """Read a schema document, of dlt or of penstock.

        A document whose content does not match its hash is a new version. It counts as saved, except without
        `bump_version`: then the schema is modified.
        """
        stored = StoredSchema.from_dict(d)
        if remove_processing_hints:
            stored = without_processing_hints(stored)
        return cls.from_stored(stored, bump_version=bump_version)

    @classmethod
    def from_stored_schema(cls, stored_schema: Mapping[str, Any]) -> Schema:
        """Read a schema document, see `from_dict`."""
        return cls.from_dict(stored_schema)

    @classmethod
    def from_text(cls, text: str) -> Schema:
        """Read a schema document from YAML or JSON text."""
        return cls.from_dict(parse_document(text))

    def to_dict(
        self,
        remove_defaults: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
        remove_processing_hints: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
        bump_version: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> TStoredSchema:
        """Return the schema document, see `schema_document`.

        It has the current version and hash, and without `bump_version` those of the last saved version.
        """
        return schema_document(
            self.stored if bump_version else self._current,
            remove_defaults=remove_defaults,
            remove_processing_hints=remove_processing_hints,
        )

    def to_pretty_json(
        self,
        remove_defaults: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
        remove_processing_hints: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> str:
        """Return the schema document as readable JSON."""
        return to_json(self.to_dict(remove_defaults, remove_processing_hints))

    def to_pretty_yaml(
        self,
        remove_defaults: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
        remove_processing_hints: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> str:
        """Return the schema document as readable YAML."""
        return to_yaml(self.to_dict(remove_defaults, remove_processing_hints))

    def to_mermaid(self, *, hide_columns: bool = False, include_dlt_tables: bool = True) -> str:
        """Return a diagram of tables and relations in Mermaid."""
        return to_mermaid(self.stored, hide_columns=hide_columns, include_dlt_tables=include_dlt_tables)

    def to_dot(self, *, hide_columns: bool = False, include_dlt_tables: bool = True) -> str:
        """Return a diagram of tables and relations in Graphviz's DOT."""
        return to_dot(self.stored, hide_columns=hide_columns, include_dlt_tables=include_dlt_tables)

    def to_dbml(self, *, include_dlt_tables: bool = True) -> str:
        """Return the tables and relations in DBML."""
        return to_dbml(self.stored, include_dlt_tables=include_dlt_tables)

    def clone(
        self,
        with_name: str | None = None,
        remove_processing_hints: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Schema:
        """Return a copy; under another name it is a new schema without history."""
        clone = copy(self)
        if with_name is not None and with_name != self.name:
            clone = Schema(with_name)
            clone.update(replace(self._current, imported_version_hash=None))
        if remove_processing_hints:
            clone.update(without_processing_hints(clone.stored))
        return clone

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
    def stored_version(self) -> int | None:
        """The version that was last saved; None for a new schema."""
        return None if self._last_saved is None else self._last_saved.version

    @property
    def stored_version_hash(self) -> str | None:
        """The hash of the version that was last saved; None for a new schema."""
        return None if self._last_saved is None else self._last_saved.version_hash

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
        """The naming convention, with the longest name of the destination.

        That is the destination of the pipeline that was active when the schema was created.
        """
        convention = stored_naming_convention(self._current.normalizers)
        return convention.with_max_length(self._max_name_length) if self._max_name_length else convention

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

    @staticmethod
    def expand_schema_contract_settings(
        settings: ContractSettings | None, default: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a contract with a mode for each entity; `default` has those that `settings` lacks.

        >>> Schema.expand_schema_contract_settings({"columns": "freeze"})
        {'tables': 'evolve', 'columns': 'freeze', 'data_type': 'evolve'}
        """
        modes = settings if isinstance(settings, str) else {**(default or {}), **(settings or {})}
        return asdict(Contract.from_settings(modes))

    def resolve_contract_settings_for_table(
        self, table_name: str, new_table_schema: TTableSchema | None = None
    ) -> dict[str, Any]:
        """Return the contract in effect for a table, see `effective_contract`; a mode for each entity."""
        tables = FrozenMap(self.tables)
        if new_table_schema is not None:
            tables = tables.with_items({table_name: Table.from_dict(new_table_schema, name=table_name)})
        default = self.settings.get("schema_contract")
        return asdict(effective_contract(table_name, tables, schema_contract=default))

    def merge_hints(
        self,
        new_hints: Mapping[str, Sequence[str]],
        replace: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
        normalize_identifiers: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> None:
        """Add patterns of column names to the default hints, or `replace` those of the same hints.

        A column that is not declared gets the hints whose patterns match its name. A pattern is a name, or
        `re:` and a regular expression.

        >>> schema = Schema("shop")
        >>> schema.merge_hints({"not_null": ["OrderId"], "unique": ["re:_no$"]})
        >>> schema.settings["default_hints"]["unique"]
        ('_dlt_id', 're:_no$')
        """
        hints = {**self.settings.get("default_hints", {})}
        for hint, patterns in new_hints.items():
            if isinstance(patterns, str):
                raise UsageError(
                    f"the patterns of {hint} are one text: {patterns!r}", hint=f"pass a list: [{patterns!r}]"
                )
            stored_patterns = () if replace else hints.get(hint, ())
            added = self._pattern_names(patterns, normalize_identifiers)
            hints[hint] = tuple(dict.fromkeys((*stored_patterns, *added)))
        self._replace(self._current.with_settings(default_hints=hints))

    def update_preferred_types(
        self,
        new_preferred_types: Mapping[str, DataType],
        normalize_identifiers: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> None:
        """Set data types for patterns of column names; a pattern is a name, or `re:` and an expression."""
        types = map(parse_data_type, new_preferred_types.values())
        names = self._pattern_names(new_preferred_types, normalize_identifiers)
        preferred = {**self.settings.get("preferred_types", {}), **dict(zip(names, types, strict=True))}
        self._replace(self._current.with_settings(preferred_types=preferred))

    def get_preferred_type(self, col_name: str) -> DataType | None:
        """Return the preferred type of a column by its normalized name, if any."""
        return NamePatterns.from_settings(self.settings).preferred_type(col_name)

    def add_type_detection(self, detection: Detection) -> None:
        """Detect the type of texts and numbers by their form, such as `iso_date` or `timestamp`."""
        if detection not in DETECTIONS:
            raise UsageError(
                f"there is no type detection {detection!r}", hint=f"use one of {', '.join(DETECTIONS)}"
            )
        detections = dict.fromkeys((*self.settings.get("detections", ()), detection))
        self._replace(self._current.with_settings(detections=tuple(detections)))

    def remove_type_detection(self, detection: Detection) -> None:
        """Stop detecting a type by the form of values; without effect if it is not detected."""
        detections = [name for name in self.settings.get("detections", ()) if name != detection]
        self._replace(self._current.with_settings(detections=detections))

    def _pattern_names(self, patterns: Iterable[str], normalize_identifiers: bool) -> list[str]:  # noqa: FBT001
        normalize = self.naming.normalize_path if normalize_identifiers else str
        return [name if name.startswith(REGEX_PREFIX) else normalize(name) for name in patterns]

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables by name, with system tables. Read-only, as the tables and their columns."""
        return self._current.tables

    def data_tables(
        self,
        seen_data_only: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
        include_incomplete: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> list[Table]:
        """Return the tables without system tables, and by default without those that have no typed column."""
        return [
            table
            for table in self.tables.values()
            if not table.name.startswith(SYSTEM_PREFIX)
            and (include_incomplete or table.complete_columns())
            and (table.has_seen_data or not seen_data_only)
        ]

    def data_table_names(
        self,
        seen_data_only: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
        include_incomplete: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> list[str]:
        """Return the names of `data_tables`."""
        return [table.name for table in self.data_tables(seen_data_only, include_incomplete)]

    def dlt_tables(self) -> list[Table]:
        """Return the system tables."""
        return [table for table in self.tables.values() if table.name.startswith(SYSTEM_PREFIX)]

    def dlt_table_names(self) -> list[str]:
        """Return the names of the system tables."""
        return [table.name for table in self.dlt_tables()]

    def get_table(self, table_name: str) -> Table:
        """Return a table; raise `TableNotFound` if it is unknown."""
        try:
            return self.tables[table_name]
        except KeyError:
            raise TableNotFound(table=table_name, schema=self.name) from None

    def is_new_table(self, table_name: str) -> bool:
        """Return whether a table is unknown, or has no typed column yet."""
        return table_name not in self.tables or not self.tables[table_name].complete_columns()

    def get_table_columns(
        self,
        table_name: str,
        include_incomplete: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Mapping[str, Column]:
        """Return the columns of a table by name, by default those with a data type."""
        columns = self.get_table(table_name).columns
        return FrozenMap(
            {n: column for n, column in columns.items() if include_incomplete or column.is_complete}
        )

    def get_new_table_columns(
        self,
        table_name: str,
        existing_columns: Mapping[str, Any],
        case_sensitive: bool,  # noqa: FBT001 - dlt's signature
        include_incomplete: bool = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> list[Column]:
        """Return the columns of a table that `existing_columns` lacks, in order."""
        fold = str if case_sensitive else str.casefold
        existing = set(map(fold, existing_columns))
        columns = self.get_table_columns(table_name, include_incomplete)
        return [column for name, column in columns.items() if fold(name) not in existing]

    def filter_row_with_hint(self, table_name: str, hint_type: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a row whose columns have a hint; `not_null` is one of the hints.

        The columns of an unknown table have the default hints of the schema.
        """
        table = self.tables.get(table_name)
        patterns = NamePatterns.from_settings(self.settings)
        columns = table.columns if table else {name: patterns.infer_column(name, "text") for name in row}
        return {
            name: row[name]
            for name, column in columns.items()
            if name in row and (not column.is_nullable if hint_type == NOT_NULL else column.has(hint_type))
        }

    @property
    def references(self) -> list[dict[str, Any]]:
        """The relations between tables: declared ones, and those of system columns."""
        return [relation.to_dict() for relation in relations(self.stored)]

    def update_table(
        self,
        partial_table: Table | TTableSchema,
        normalize_identifiers: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
        merge_compound_props: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Table:
        """Merge a table into the schema, see `Table.merged`, and return the merged table.

        Without `merge_compound_props`, new key columns replace the old ones.
        """
        incoming = partial_table if isinstance(partial_table, Table) else Table.from_dict(partial_table)
        if normalize_identifiers and not incoming.name.startswith(SYSTEM_PREFIX):
            incoming = incoming.normalized(self.naming)
        if incoming.parent is not None:
            self.get_table(incoming.parent)
        stored_table = self.tables.get(incoming.name)
        if stored_table is None:
            merged = incoming.with_root_defaults()
        elif merge_compound_props:
            merged = stored_table.merged(incoming)
        else:
            merged = stored_table.with_hints_of(incoming)
        self._replace(with_root_key(self._current.with_tables([merged]), merged.name))
        return merged

    def update_schema(self, schema: Schema) -> None:
        """Merge the tables and settings of another schema; its values replace those of this one."""
        for table in schema.tables.values():
            self.update_table(table, normalize_identifiers=False)
        self.merge_hints(schema.settings.get("default_hints", {}), normalize_identifiers=False)
        self.update_preferred_types(schema.settings.get("preferred_types", {}), normalize_identifiers=False)
        for detection in schema.settings.get("detections", ()):
            self.add_type_detection(detection)
        if "schema_contract" in schema.settings:
            self.set_schema_contract(schema.settings["schema_contract"])

    def drop_tables(self, table_names: Iterable[str]) -> list[Table]:
        """Remove tables and return them; raise `TableNotFound` for an unknown name."""
        dropped = [self.get_table(name) for name in table_names]
        self._replace(self._current.without_tables(*(table.name for table in dropped)))
        return dropped

    def normalize_data_item(self, item: Any, load_id: str, table_name: str) -> NoReturn:
        """Raise `UsageError`: rows become tables in Spark, many at a time."""
        raise UsageError(
            f"a row of {table_name} cannot be normalized by itself: rows become tables in Spark",
            hint="load the rows with pipeline.run, or extract and normalize them with pipeline.extract and "
            "pipeline.normalize",
        )

    def update(self, stored: StoredSchema) -> None:
        """Replace the content; name and history are kept."""
        self._replace(replace(stored, name=self.name))

    def restore(self, stored: StoredSchema, *, bump_version: bool = True) -> None:
        """Replace content and history by those of a stored schema, as the last saved version.

        If its content does not match its hash, it is a new version, which is the last saved one unless
        `bump_version` is false.
        """
        self._stamped = stamp_version(stored, previous=stored)
        self._current = self._last_saved = self._stamped if bump_version else stored

    def mark_saved(self) -> None:
        """Mark the current value as saved, so that the next change is a new version."""
        self._last_saved = self.stored

    def _replace(self, stored: StoredSchema) -> None:
        self._current, self._stamped = stored, None

    def __repr__(self) -> str:
        return f"Schema({self.name!r}, version={self.version}, tables={len(self.tables)})"

    def _repr_html_(self) -> str:
        """Return the diagram of the data tables, which a notebook shows."""
        title = element("p", element("strong", f"Schema {self.name}"), f", version {self.version}")
        return notebook_fragment(title, to_html_diagram(self.stored))
