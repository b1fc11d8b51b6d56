"""The projection of a nested dataset to one table, as plain data for a job file.

The nested dataset of a root table has the columns `id`, the id of the row, `row`, the struct of its values,
and `raw`, the JSON text of rows that do not fit the struct. A nested table is reached by exploding lists.
`explode` generates the SQL.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.package.sql import quote_name, variant_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.package.projection.typed_values import StorageForm, ValueType
    from penstock.schema import DataType

_EMPTY_VALUES: Final = ((), None, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAccess:
    """The path of a value in a row: names of struct fields, then keys inside a VARIANT."""

    path: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()

    def sql(self, row: str = "row") -> str:
        """Return SQL for the stored value."""
        return self.sql_within(quote_name(row, *self.path))

    def sql_within(self, value: str) -> str:
        """Return SQL for the value under the keys inside `value`."""
        return variant_value(value, self.inside, "variant") if self.inside else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnValue:
    """Values of one type at one path, and the type of their column."""

    at: FieldAccess
    stored: StorageForm
    kind: ValueType
    to: DataType
    unless: tuple[DataType, ...] = ()
    """Types that are tried first: a value that fits one of them goes into another column."""
    shape: str | None = None
    """For a struct that becomes JSON: its type with the original keys."""

    @property
    def source_sql(self) -> str:
        """SQL for the stored value."""
        return f"CAST({self.at.sql()} AS {self.shape})" if self.shape else self.at.sql()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """A column of the table and its values, of which a row has at most one."""

    name: str
    sql_type: str
    values: tuple[ColumnValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowExclusion:
    """Values that exclude their row."""

    at: FieldAccess
    stored: StorageForm
    kind: ValueType
    unless: tuple[DataType, ...] = ()
    """Types that are tried first: a value that fits one of them does not exclude its row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The rows of one table on the path from the root: their elements, and what they pass to rows below.

    The root level has no lists. `lists` are the paths in the parent row whose elements are the rows; of
    several lists, which then hold VARIANTs, a parent row has at most one.
    """

    table: str
    lists: tuple[tuple[FieldAccess, StorageForm | None], ...] = ()
    own_id: OutputColumn | None = None
    """The column of ids in the data, if any."""
    passed: tuple[OutputColumn, ...] = ()
    """Columns that are copied to rows below, by their names there."""
    passes_id: tuple[str, ...] = ()
    """The columns of rows below with the id of this row."""
    refused: tuple[RowExclusion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The projection of a nested dataset to one table."""

    levels: tuple[Level, ...]
    """The levels from the root down; none if the files have the columns of the table already."""
    columns: tuple[OutputColumn, ...] = ()
    inherited: tuple[tuple[str, str], ...] = ()
    """Columns that are copied from rows above, each with its type."""
    own_load_id: OutputColumn | None = None
    """The column of load ids in the data, which rows of the quarantine that stay there keep."""
    is_partial: bool = False
    """Whether rows with a raw text are in another part of the dataset."""
    is_root: bool = True
    """Whether rows have a load id, and not a parent id."""
    is_hashed: bool = False
    """Whether nested rows get dlt's ids, which `dlt_ids` hashes after the steps."""
    order: tuple[str, ...] = ()
    """The order of the table's columns, in which a load adds new ones."""

    @property
    def unhashed_id_columns(self) -> tuple[str, ...]:
        """The id columns that the steps leave unhashed."""
        if not self.is_hashed or len(self.levels) == 1:
            return ()
        passed = {name for level in self.levels[1:] for name in level.passes_id}
        own = ("_dlt_id",) if self.is_root else ("_dlt_parent_id", "_dlt_id")
        return (*(name for name, _ in self.inherited if name in passed), *own)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the job file."""
        return {
            key: _without_empty(value)
            for key, value in asdict(self).items()
            if key == "levels" or value not in _EMPTY_VALUES
        }

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Projection:
        """Read a document of `to_dict`."""
        return Projection(
            levels=tuple(_parse_level(level) for level in document["levels"]),
            columns=_parse_columns(document.get("columns", ())),
            inherited=tuple((name, kind) for name, kind in document.get("inherited", ())),
            own_load_id=_parse_optional(document.get("own_load_id")),
            is_partial=bool(document.get("is_partial", False)),
            is_root=bool(document.get("is_root", False)),
            is_hashed=bool(document.get("is_hashed", False)),
            order=tuple(document.get("order", ())),
        )


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(inner) for key, inner in value.items() if inner not in _EMPTY_VALUES}
    if isinstance(value, tuple | list):
        return [_without_empty(inner) for inner in value]
    return value


def _parse_path(document: Mapping[str, Any]) -> FieldAccess:
    return FieldAccess(path=tuple(document.get("path", ())), inside=tuple(document.get("inside", ())))


def _parse_columns(documents: Iterable[Mapping[str, Any]]) -> tuple[OutputColumn, ...]:
    return tuple(_parse_column(document) for document in documents)


def _parse_column(document: Mapping[str, Any]) -> OutputColumn:
    values = tuple(
        ColumnValue(
            **{**value, "at": _parse_path(value.get("at", {})), "unless": tuple(value.get("unless", ()))}
        )
        for value in document.get("values", ())
    )
    return OutputColumn(name=document["name"], sql_type=document["sql_type"], values=values)


def _parse_optional(document: Mapping[str, Any] | None) -> OutputColumn | None:
    return _parse_column(document) if document else None


def _parse_level(document: Mapping[str, Any]) -> Level:
    return Level(
        table=document["table"],
        lists=tuple((_parse_path(at), stored) for at, stored in document.get("lists", ())),
        own_id=_parse_optional(document.get("own_id")),
        passed=_parse_columns(document.get("passed", ())),
        passes_id=tuple(document.get("passes_id", ())),
        refused=tuple(
            RowExclusion(
                at=_parse_path(exclusion.get("at", {})),
                stored=exclusion["stored"],
                kind=exclusion["kind"],
                unless=tuple(exclusion.get("unless", ())),
            )
            for exclusion in document.get("refused", ())
        ),
    )
