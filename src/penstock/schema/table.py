"""One table: its columns in order, whose it is, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, cast

from penstock.errors import TablePropertiesConflictException
from penstock.schema.column import COMPOUND_HINTS, Column, TColumnSchema
from penstock.schema.frozen_map import FrozenMap, freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
"""A table as the public API takes and gives it; any other key that begins with `x-` is kept as well."""

TSchemaTables = dict[str, TTableSchema]
"""Tables by name; also what a load adds to them: new tables, and known ones with their new columns only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a schema.

    A root table names its `resource`, a nested one its `parent`. The order of `columns` is the order in which
    they were created, and part of what the table is, though `==` does not look at it. `extras` holds all
    other keys of a table document.
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
        """Read a table document; `name`, the key under which it stands, wins over the name inside."""
        said = {key: document[key] for key in _FIELDS if document.get(key) is not None}
        if name is not None:
            said["name"] = name
        columns = {
            key: Column.from_dict(value, name=key) for key, value in document.get("columns", {}).items()
        }
        rest = {key: value for key, value in document.items() if key not in said and key != "columns"}
        return cls(**said, columns=columns, extras=rest)

    def to_dict(self) -> TTableSchema:
        """Write a table document that the caller may change."""
        values = {key: value for key in _FIELDS if (value := getattr(self, key)) is not None}
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return cast("TTableSchema", {**values, "columns": columns, **thaw(self.extras)})

    @property
    def is_nested(self) -> bool:
        """Whether the rows come out of lists of another table's rows."""
        return self.parent is not None

    @property
    def has_seen_data(self) -> bool:
        """Whether a row ever went into the table, so that the destination has it."""
        return bool(self.extras.get("x-normalizer", _NO_EXTRAS).get("seen-data"))

    def complete_columns(self) -> tuple[Column, ...]:
        """Give the columns whose type is known, in order: those that a destination has."""
        return tuple(column for column in self.columns.values() if column.is_complete)

    def columns_with(self, hint: str) -> tuple[str, ...]:
        """Name the columns on which the hint is set, in order."""
        return tuple(name for name, column in self.columns.items() if column.has(hint))

    def with_name(self, name: str) -> Table:
        """Copy under another name."""
        return replace(self, name=name)

    def with_columns(self, columns: Iterable[Column]) -> Table:
        """Copy with columns set: a known name is replaced in its place, a new one comes last."""
        return replace(self, columns={**self.columns, **{column.name: column for column in columns}})

    def without_columns(self, *names: str) -> Table:
        """Copy without columns."""
        return replace(self, columns=FrozenMap(self.columns).without(*names))

    def with_extras(self, **extras: Any) -> Table:
        """Copy with other keys of the document set."""
        return replace(self, extras={**self.extras, **extras})

    def without_extras(self, *keys: str) -> Table:
        """Copy with other keys of the document forgotten."""
        return replace(self, extras=FrozenMap(self.extras).without(*keys))

    def with_root_defaults(self) -> Table:
        """Copy where a root table says what it otherwise only means: its own resource, and append.

        dlt writes both into any schema it reads; where they are missing it would count a new version.
        """
        if self.is_nested:
            return self
        return replace(
            self,
            resource=self.resource or self.name,
            write_disposition=self.write_disposition or "append",
        ).without_extras("resource", "write_disposition")

    def with_seen_data(self) -> Table:
        """Copy that remembers that rows went in."""
        normalizer = {**self.extras.get("x-normalizer", _NO_EXTRAS), "seen-data": True}
        return self.with_extras(**{"x-normalizer": normalizer})

    def merged(self, incoming: Table) -> Table:
        """Take over what `incoming` says; merging the same table twice changes nothing.

        A known column keeps its place and its type. A column that was waiting for its type and gets it now
        goes to the end with the new ones, because that is where the destination will put it.
        """
        if incoming.parent != self.parent:
            raise TablePropertiesConflictException(
                table=self.name, prop="parent", has=self.parent, got=incoming.parent
            )
        said = {k: v for k in ("resource", "write_disposition") if (v := getattr(incoming, k)) is not None}
        columns = self._merged_columns(incoming.columns)
        return replace(self, **said, columns=columns, extras={**self.extras, **incoming.extras})

    def with_hints_of(self, incoming: Table) -> Table:
        """Merge what a resource declares: as `merged`, but a new set of key columns replaces the old set."""
        spoken = tuple(hint for hint in sorted(COMPOUND_HINTS) if incoming.columns_with(hint))
        cleared = replace(self, columns={n: c.without_hints(*spoken) for n, c in self.columns.items()})
        return cleared.merged(incoming)

    def _merged_columns(self, incoming: Mapping[str, Column]) -> dict[str, Column]:
        merged = dict(self.columns)
        for name, column in incoming.items():
            known = merged.get(name)
            if known is not None and column.is_complete and not known.is_complete:
                del merged[name]
            merged[name] = known.merged(column) if known else column
        return merged
