"""What a database says of a table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VIEW: Final = "view"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column: its type as the database writes it, without its digits."""

    name: str
    kind: str
    nullable: bool = True
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceFacts:
    """A foreign key."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table or view. Columns are empty where the database was not asked for them."""

    name: str
    columns: tuple[ColumnFacts, ...] = ()
    primary_key: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    """Columns that are unique by themselves."""
    references: tuple[ReferenceFacts, ...] = ()
    is_view: bool = False
    size: int | None = None
    """Bytes on its disk; None where the database does not tell."""
    heap: int | None = None
    """Bytes of the pages that a sample is taken of."""

    def column(self, name: str) -> ColumnFacts | None:
        """The column of a name, if there is one."""
        return next((one for one in self.columns if one.name == name), None)


def tables_of(
    columns: Iterable[Mapping[str, Any]], keys: Iterable[Mapping[str, Any]] = ()
) -> dict[str, TableFacts]:
    """Put the rows of a catalog together: one row for each column, and one for each column of a key.

    `at` is the place of a column in its table or key. A key is of the `kind` primary, foreign or unique.
    """
    by_table: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(columns, key=lambda row: (row["table_name"], row["at"])):
        by_table[row["table_name"]].append(row)
    of_table: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(keys, key=lambda row: (row["key_name"], row["at"])):
        of_table[row["table_name"]].append(row)
    return {name: _table(name, rows, of_table[name]) for name, rows in by_table.items()}


def _table(name: str, rows: list[Mapping[str, Any]], keys: list[Mapping[str, Any]]) -> TableFacts:
    foreign: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for key in keys:
        if key["kind"] == "foreign":
            foreign[key["key_name"]].append(key)
    return TableFacts(
        name=name,
        columns=tuple(_column(row) for row in rows),
        primary_key=tuple(key["column_name"] for key in keys if key["kind"] == "primary"),
        unique=tuple(dict.fromkeys(key["column_name"] for key in keys if key["kind"] == "unique")),
        references=tuple(
            ReferenceFacts(
                columns=tuple(one["column_name"] for one in parts),
                table=parts[0]["other_table"],
                referenced=tuple(one["other_column"] for one in parts),
            )
            for parts in foreign.values()
        ),
        is_view=rows[0]["table_kind"] == VIEW,
        size=_number(rows[0].get("size")),
        heap=_number(rows[0].get("heap")),
    )


def _column(row: Mapping[str, Any]) -> ColumnFacts:
    return ColumnFacts(
        name=row["column_name"],
        kind=str(row["data_type"]).lower(),
        nullable=str(row["nullable"]).lower() in {"yes", "true", "1"},
        precision=_number(row["digits"]),
        scale=_number(row["scale"]),
    )


def _number(found: Any) -> int | None:
    return None if found is None else int(found)
