"""What a database says of a table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VIEW: Final = "view"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedColumn:
    """One column: its type as the database writes it, without its digits."""

    name: str
    database_type: str
    nullable: bool = True
    precision: int | None = None
    scale: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedForeignKey:
    """A foreign key."""

    columns: tuple[str, ...]
    referenced_table: str
    referenced_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedTable:
    """One table or view. Columns are empty where the database was not asked for them."""

    name: str
    columns: tuple[ReflectedColumn, ...] = ()
    primary_key: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    """Columns that are unique by themselves."""
    references: tuple[ReflectedForeignKey, ...] = ()
    is_view: bool = False
    size: int | None = None
    """Bytes on its disk; None where the database does not tell."""
    heap: int | None = None
    """Bytes of the pages that a sample is taken of."""

    def column(self, name: str) -> ReflectedColumn | None:
        """The column of a name, if there is one."""
        return next((one for one in self.columns if one.name == name), None)


def reflected_tables(
    columns: Iterable[Mapping[str, Any]], keys: Iterable[Mapping[str, Any]] = ()
) -> dict[str, ReflectedTable]:
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


def _table(name: str, rows: list[Mapping[str, Any]], keys: list[Mapping[str, Any]]) -> ReflectedTable:
    foreign: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for key in keys:
        if key["kind"] == "foreign":
            foreign[key["key_name"]].append(key)
    return ReflectedTable(
        name=name,
        columns=tuple(_column(row) for row in rows),
        primary_key=tuple(key["column_name"] for key in keys if key["kind"] == "primary"),
        unique=tuple(dict.fromkeys(key["column_name"] for key in keys if key["kind"] == "unique")),
        references=tuple(
            ReflectedForeignKey(
                columns=tuple(one["column_name"] for one in parts),
                referenced_table=parts[0]["other_table"],
                referenced_columns=tuple(one["other_column"] for one in parts),
            )
            for parts in foreign.values()
        ),
        is_view=rows[0]["table_kind"] == VIEW,
        size=_as_int(rows[0].get("size")),
        heap=_as_int(rows[0].get("heap")),
    )


def _column(row: Mapping[str, Any]) -> ReflectedColumn:
    return ReflectedColumn(
        name=row["column_name"],
        database_type=str(row["data_type"]).lower(),
        nullable=str(row["nullable"]).lower() in {"yes", "true", "1"},
        precision=_as_int(row["digits"]),
        scale=_as_int(row["scale"]),
    )


def _as_int(value: Any) -> int | None:
    return None if value is None else int(value)
