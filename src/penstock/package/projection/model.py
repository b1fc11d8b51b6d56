"""A table as a projection of a nested dataset: plain data.

The nested dataset of a root table has the columns `id`, the row's id, `row`, the struct of its values as they
were seen, and `raw`, the text of rows that this part of the dataset does not stand for. A table is reached by
stepping into lists. Because the projection is data, it can be stored in a job file and read by anybody;
`unfold` makes SQL of it.
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
    """Where a value stands below a row: names of struct fields, then keys inside a VARIANT."""

    path: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()

    def sql(self, row: str = "row") -> str:
        """The value as it is stored."""
        return self.sql_within(quote_name(row, *self.path))

    def sql_within(self, value: str) -> str:
        """What stands inside a VARIANT, or the value itself."""
        return variant_value(value, self.inside, "variant") if self.inside else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnValue:
    """Values of one type at one place, and the type of the column that takes them."""

    at: FieldAccess
    stored: StorageForm
    kind: ValueType
    to: DataType
    unless: tuple[DataType, ...] = ()
    """Types that are tried before: what fits one of them goes into another column."""
    shape: str | None = None
    """For what is taken whole out of structs: their type under the keys that JSON shall have."""

    @property
    def source_sql(self) -> str:
        """The value as it is stored."""
        return f"CAST({self.at.sql()} AS {self.shape})" if self.shape else self.at.sql()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """A column of the table and the values that go into it; no two of them stand in one row."""

    name: str
    sql_type: str
    values: tuple[ColumnValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowExclusion:
    """Values with which their row is left out."""

    at: FieldAccess
    stored: StorageForm
    kind: ValueType
    unless: tuple[DataType, ...] = ()
    """Types that are tried before: a row whose value fits one of them stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The rows of one table on the way from the root: what they are made of, and what they pass down.

    The root level has no lists. `lists` are the places below the row above whose elements are the rows; where
    there are several, each row above has one of them at most, and all hold VARIANTs.
    """

    table: str
    lists: tuple[tuple[FieldAccess, StorageForm | None], ...] = ()
    own_id: OutputColumn | None = None
    """The column of ids that come with the data."""
    passed: tuple[OutputColumn, ...] = ()
    """Columns that rows below get a copy of, by the names they have there."""
    passes_id: tuple[str, ...] = ()
    """The names under which rows below get the id of this row."""
    refused: tuple[RowExclusion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The way from a nested dataset to one table."""

    levels: tuple[Level, ...]
    columns: tuple[OutputColumn, ...] = ()
    inherited: tuple[tuple[str, str], ...] = ()
    """Columns that come down from rows above, each with its type."""
    is_partial: bool = False
    """Whether rows with a raw text stand in another part of the dataset."""
    is_root: bool = True
    """Whether rows say which load they came with, and not which row they belong to."""
    is_hashed: bool = False
    """Whether nested rows have ids as dlt makes them; the steps leave those to be worked out, see `shake`."""
    order: tuple[str, ...] = ()
    """The order of the table's columns; the load gives new columns to a table in this order."""

    @property
    def unhashed_id_columns(self) -> tuple[str, ...]:
        """The columns of ids that the steps leave unfinished."""
        if not self.is_hashed or len(self.levels) == 1:
            return ()
        passed = {name for level in self.levels[1:] for name in level.passes_id}
        own = ("_dlt_id",) if self.is_root else ("_dlt_parent_id", "_dlt_id")
        return (*(name for name, _ in self.inherited if name in passed), *own)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return {key: _without_empty(one) for key, one in asdict(self).items() if one not in _EMPTY_VALUES}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Projection:
        """Read what `to_dict` gave."""
        return Projection(
            levels=tuple(_parse_level(level) for level in document["levels"]),
            columns=_parse_columns(document.get("columns", ())),
            inherited=tuple((name, kind) for name, kind in document.get("inherited", ())),
            is_partial=bool(document.get("is_partial", False)),
            is_root=bool(document.get("is_root", False)),
            is_hashed=bool(document.get("is_hashed", False)),
            order=tuple(document.get("order", ())),
        )


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(one) for key, one in value.items() if one not in _EMPTY_VALUES}
    if isinstance(value, tuple | list):
        return [_without_empty(one) for one in value]
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


def _parse_level(document: Mapping[str, Any]) -> Level:
    own_id = document.get("own_id")
    return Level(
        table=document["table"],
        lists=tuple((_parse_path(at), stored) for at, stored in document.get("lists", ())),
        own_id=_parse_column(own_id) if own_id else None,
        passed=_parse_columns(document.get("passed", ())),
        passes_id=tuple(document.get("passes_id", ())),
        refused=tuple(
            RowExclusion(
                at=_parse_path(one.get("at", {})),
                stored=one["stored"],
                kind=one["kind"],
                unless=tuple(one.get("unless", ())),
            )
            for one in document.get("refused", ())
        ),
    )
