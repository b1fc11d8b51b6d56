"""Columns: name, data type and hints, and their documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from penstock.schema.frozen_map import FrozenMap, freeze, thaw
from penstock.schema.record import DocumentRecord
from penstock.schema.types import DataType, parse_data_type

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPOUND_HINTS: Final = frozenset({"partition", "cluster", "primary_key", "merge_key", "incremental"})
"""Hints that define a set of columns: a new set replaces the old one."""

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
    """A column document, as the public API accepts and returns it; `x-…` keys are allowed too."""

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column(DocumentRecord):
    """A column of a table, and a read-only mapping: `column["data_type"]`, `column.get("nullable")`.

    `data_type` is None until a value decides it: such a column is stored but not created. `nullable` None
    means nullable. `hints` has all other keys of the document: those of `COLUMN_HINTS`, `description`, `x-…`,
    and unknown ones.
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
        """Read a column document; `name`, its key in the table, takes precedence over the name inside."""
        fields = {key: document[key] for key in _FIELDS if document.get(key) is not None}
        if name is not None:
            fields["name"] = name
        if "data_type" in fields:
            fields["data_type"] = parse_data_type(fields["data_type"])
        return cls(**fields, hints=FrozenMap({k: freeze(v) for k, v in document.items() if k not in fields}))

    def document(self) -> dict[str, Any]:
        """Return the fields that are not None, and the hints."""
        return {key: value for key in _FIELDS if (value := getattr(self, key)) is not None} | dict(self.hints)

    def to_dict(self) -> TColumnSchema:
        """Return the document, without fields that are None; the caller may change it."""
        document = self.document()
        return cast("TColumnSchema", document | thaw(self.hints) if self.hints else document)

    @property
    def is_complete(self) -> bool:
        """Whether the type is known, so that the column can be created."""
        return self.data_type is not None

    @property
    def is_nullable(self) -> bool:
        """Whether the column accepts rows without a value."""
        return self.nullable is not False

    def has(self, hint: str) -> bool:
        """Return whether a hint is set to a true value."""
        return bool(self.hints.get(hint))

    def with_name(self, name: str) -> Column:
        """Return a copy with another name."""
        return replace(self, name=name)

    def with_hints(self, **hints: Any) -> Column:
        """Return a copy with keys of the document set, fields or hints."""
        return Column.from_dict({**self.to_dict(), **hints})

    def without_hints(self, *hints: str) -> Column:
        """Return a copy without these hints, which is not the same as with false ones."""
        return replace(self, hints=FrozenMap(self.hints).without_keys(*hints))

    def merged(self, incoming: Column) -> Column:
        """Return the column with the fields and hints of `incoming`; a known type is kept."""
        document = cast("dict[str, Any]", incoming.to_dict())
        if self.is_complete:
            document = {key: value for key, value in document.items() if key not in _TYPE_FACETS}
        return Column.from_dict({**self.to_dict(), **document, "name": self.name})
