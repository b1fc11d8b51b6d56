"""Tables: columns in order, parent or resource, write disposition, and their documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, cast

from penstock.errors import TablePropertiesConflictException
from penstock.schema.column import COMPOUND_HINTS, Column, TColumnSchema
from penstock.schema.frozen_map import FrozenMap, freeze, thaw
from penstock.schema.record import DocumentRecord

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from penstock.schema.naming import NamingConvention

TWriteDisposition = Literal["skip", "append", "replace", "merge"]

_FIELDS: Final = ("name", "parent", "resource", "write_disposition")
_NO_COLUMNS: Final = FrozenMap[Column]()
_NO_EXTRAS: Final = FrozenMap[Any]()

TTableSchema = TypedDict(
    "TTableSchema",
    {
        "name": str,
        "columns": dict[str, TColumnSchema],
        "parent": str,
        "resource": str,
        "write_disposition": TWriteDisposition,
        "description": str,
        "schema_contract": Any,
        "table_format": str,
        "file_format": str,
        "references": list[dict[str, Any]],
        "filters": dict[str, list[str]],
        "variant_name": str,
        "x-normalizer": dict[str, Any],
    },
    total=False,
)
"""A table document, as the public API accepts and returns it; `x-…` keys are allowed too."""

TSchemaTables = dict[str, TTableSchema]
"""Tables by name; also a schema update: new tables, and known tables with only their new columns."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table(DocumentRecord):
    """A table of a schema, and a read-only mapping: `table["columns"]["id"]["data_type"]`.

    A root table has a `resource`, a nested one a `parent`. `columns` are in the order in which they were
    created, which `==` ignores. `extras` has all other keys of the document.
    """

    name: str
    columns: Mapping[str, Column] = field(default=_NO_COLUMNS)
    parent: str | None = None
    resource: str | None = None
    write_disposition: TWriteDisposition | None = None
    extras: Mapping[str, Any] = field(default=_NO_EXTRAS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", FrozenMap(self.columns))
        object.__setattr__(self, "extras", freeze(self.extras))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, name: str | None = None) -> Table:
        """Read a table document; `name`, its key in the schema, takes precedence over the name inside."""
        fields = {key: document[key] for key in _FIELDS if document.get(key) is not None}
        if name is not None:
            fields["name"] = name
        columns = {
            key: Column.from_dict(value, name=key) for key, value in document.get("columns", {}).items()
        }
        extras = {key: value for key, value in document.items() if key not in fields and key != "columns"}
        return cls(**fields, columns=columns, extras=extras)

    def document(self) -> dict[str, Any]:
        """Return the fields that are not None, the columns, and all other keys."""
        fields = {key: value for key in _FIELDS if (value := getattr(self, key)) is not None}
        return {**fields, "columns": self.columns, **self.extras}

    def to_dict(self) -> TTableSchema:
        """Return the document, which the caller may change."""
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return cast("TTableSchema", {**self.document(), "columns": columns, **thaw(self.extras)})

    @property
    def is_nested(self) -> bool:
        """Whether the rows are elements of lists in rows of another table."""
        return self.parent is not None

    @property
    def has_seen_data(self) -> bool:
        """Whether a load has written to the table, so that the destination has it."""
        return bool(self.extras.get("x-normalizer", _NO_EXTRAS).get("seen-data"))

    def complete_columns(self) -> tuple[Column, ...]:
        """Return the columns with a data type, in order: those that a destination has."""
        return tuple(column for column in self.columns.values() if column.is_complete)

    def columns_with(self, hint: str) -> tuple[str, ...]:
        """Return the names of the columns with a hint, in order."""
        return tuple(name for name, column in self.columns.items() if column.has(hint))

    def with_name(self, name: str) -> Table:
        """Return a copy with another name."""
        return replace(self, name=name)

    def normalized(self, naming: NamingConvention) -> Table:
        """Return a copy whose name, parent and columns are normalized."""
        parent = None if self.parent is None else naming.normalize_tables_path(self.parent)
        columns = [column.with_name(naming.normalize_path(name)) for name, column in self.columns.items()]
        columns_by_name = {column.name: column for column in columns}
        name = naming.normalize_tables_path(self.name)
        return replace(self, name=name, parent=parent, columns=columns_by_name)

    def with_columns(self, columns: Iterable[Column]) -> Table:
        """Return a copy with columns replaced in their position, or added at the end."""
        return replace(self, columns={**self.columns, **{column.name: column for column in columns}})

    def without_columns(self, *names: str) -> Table:
        """Return a copy without these columns."""
        return replace(self, columns=FrozenMap(self.columns).without_keys(*names))

    def with_only_columns(self, names: Container[str]) -> Table:
        """Return a copy with these of its columns."""
        return self.without_columns(*(name for name in self.columns if name not in names))

    def with_extras(self, **extras: Any) -> Table:
        """Return a copy with other keys of the document."""
        return replace(self, extras={**self.extras, **extras})

    def without_extras(self, *keys: str) -> Table:
        """Return a copy without these other keys of the document."""
        return replace(self, extras=FrozenMap(self.extras).without_keys(*keys))

    def with_root_defaults(self) -> Table:
        """Return a copy in which a root table has a resource, its own name, and a disposition, `append`.

        dlt adds both to any schema that it reads, which would be a new version.
        """
        if self.is_nested:
            return self
        return replace(
            self,
            resource=self.resource or self.name,
            write_disposition=self.write_disposition or "append",
        ).without_extras("resource", "write_disposition")

    def with_seen_data(self) -> Table:
        """Return a copy that is marked as written by a load."""
        normalizer = {**self.extras.get("x-normalizer", _NO_EXTRAS), "seen-data": True}
        return self.with_extras(**{"x-normalizer": normalizer})

    def merged(self, incoming: Table) -> Table:
        """Return the table with the columns and hints of `incoming`. Idempotent.

        A known column keeps its position and its type. A column that gets its type now moves to the end,
        where the destination adds it.
        """
        if incoming.parent != self.parent:
            raise TablePropertiesConflictException(
                table=self.name, prop="parent", has=self.parent, got=incoming.parent
            )
        fields = {k: v for k in ("resource", "write_disposition") if (v := getattr(incoming, k)) is not None}
        columns = self._merged_columns(incoming.columns)
        return replace(self, **fields, columns=columns, extras={**self.extras, **incoming.extras})

    def with_hints_of(self, incoming: Table) -> Table:
        """Merge the hints that a resource declares: a new set of key columns replaces the old set."""
        redefined = tuple(hint for hint in sorted(COMPOUND_HINTS) if incoming.columns_with(hint))
        cleared = replace(self, columns={n: c.without_hints(*redefined) for n, c in self.columns.items()})
        return cleared.merged(incoming)

    def _merged_columns(self, incoming: Mapping[str, Column]) -> dict[str, Column]:
        merged = dict(self.columns)
        for name, column in incoming.items():
            stored_column = merged.get(name)
            if stored_column is not None and column.is_complete and not stored_column.is_complete:
                del merged[name]
            merged[name] = stored_column.merged(column) if stored_column else column
        return merged
