"""One column: its name, its type as far as it is known, and everything else that was said about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from penstock.schema.frozen_map import FrozenMap, freeze, thaw
from penstock.schema.types import DataType, parse_data_type

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPOUND_HINTS: Final = frozenset({"partition", "cluster", "primary_key", "merge_key", "incremental"})
"""Hints that speak for a set of columns: a new set replaces the old one as a whole."""

COLUMN_HINTS: Final = COMPOUND_HINTS | {
    "sort",
    "unique",
    "row_key",
    "parent_key",
    "root_key",
    "hard_delete",
    "dedup_sort",
    "variant",
}

_TYPE_FACETS: Final = ("data_type", "precision", "scale", "timezone")
_FIELDS: Final = ("name", "data_type", "nullable", "precision", "scale", "timezone")
_NO_HINTS: Final = FrozenMap[Any]()


class TColumnSchema(TypedDict, total=False):
    """A column as the public API takes and gives it; any key that begins with `x-` is kept as well."""

    name: str
    data_type: DataType
    nullable: bool
    precision: int
    scale: int
    timezone: bool
    description: str
    partition: bool
    cluster: bool
    primary_key: bool
    merge_key: bool
    incremental: Any
    sort: bool
    unique: bool
    row_key: bool
    parent_key: bool
    root_key: bool
    hard_delete: bool
    dedup_sort: str
    variant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    `data_type` is None while no value has told it: such a column is remembered but not created. `nullable`
    is None when nothing was said, which means yes. `hints` holds all other keys of a column document, those
    of `COLUMN_HINTS`, `description`, any `x-…`, and also keys that this version does not know.
    """

    name: str
    data_type: DataType | None = None
    nullable: bool | None = None
    precision: int | None = None
    scale: int | None = None
    timezone: bool | None = None
    hints: Mapping[str, Any] = field(default=_NO_HINTS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hints", freeze(self.hints))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, name: str | None = None) -> Column:
        """Read a column document; `name`, the key under which it stands, wins over the name inside."""
        said = {key: document[key] for key in _FIELDS if document.get(key) is not None}
        if name is not None:
            said["name"] = name
        if "data_type" in said:
            said["data_type"] = parse_data_type(said["data_type"])
        return cls(**said, hints=FrozenMap({k: freeze(v) for k, v in document.items() if k not in said}))

    def to_dict(self) -> TColumnSchema:
        """Write a column document that the caller may change; what was not said is not written."""
        values = ((key, getattr(self, key)) for key in _FIELDS)
        document = {key: value for key, value in values if value is not None} | thaw(self.hints)
        return cast("TColumnSchema", document)

    @property
    def is_complete(self) -> bool:
        """Whether the type is known, so that the column can be created."""
        return self.data_type is not None

    @property
    def is_nullable(self) -> bool:
        """Whether a row may come without a value."""
        return self.nullable is not False

    def has(self, hint: str) -> bool:
        """Whether the hint is set and not switched off."""
        return bool(self.hints.get(hint))

    def with_name(self, name: str) -> Column:
        """Copy under another name."""
        return replace(self, name=name)

    def with_hints(self, **hints: Any) -> Column:
        """Copy with keys of the document set; `x-…` keys and field names are welcome too."""
        return Column.from_dict({**self.to_dict(), **hints})

    def without_hints(self, *hints: str) -> Column:
        """Copy with hints forgotten, which is not the same as switched off."""
        return replace(self, hints=FrozenMap(self.hints).without(*hints))

    def merged(self, incoming: Column) -> Column:
        """Take over what `incoming` says, but keep the type, with its precision, once it is known."""
        said = cast("dict[str, Any]", incoming.to_dict())
        if self.is_complete:
            said = {key: value for key, value in said.items() if key not in _TYPE_FACETS}
        return Column.from_dict({**self.to_dict(), **said, "name": self.name})
