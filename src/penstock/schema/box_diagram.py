"""Diagrams of schemas for terminals: tables as boxes, with lines from parents to their nested tables."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.relations import diagram_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

    Lines = Sequence[str]
    Children = Mapping[str | None, Sequence[Table]]

_GAP: Final = "  "
_ANCHOR_ROW: Final = 1
"""The row of a box where the line from its parent ends."""
_INDENT: Final = 3
_CONNECTOR: Final = 3
_LEAST_WIDTH: Final = 12
_BORDERS: Final = 4
_HINT_MARKS: Final = {
    "primary_key": "key",
    "row_key": "row key",
    "parent_key": "parent key",
    "variant": "variant",
}


def to_box_diagram(
    stored: StoredSchema,
    *,
    width: int = 80,
    new_columns: Collection[tuple[str, str]] = (),
    include_dlt_tables: bool = False,
) -> str:
    """Return the diagram; columns in `new_columns`, pairs of table and column, are marked as new.

    Nested tables are beside their parents if `width` allows it, else below them. Of the system columns only
    those are shown that connect tables.

    >>> from penstock.schema import Schema
    >>> shop = Schema("shop")
    >>> columns = {"id": {"name": "id", "data_type": "bigint"}}
    >>> _ = shop.update_table({"name": "orders", "columns": columns})
    >>> print(to_box_diagram(shop.stored, new_columns=[("orders", "id")]))
    ┌ orders ─────────┐
    │ id  bigint  new │
    └─────────────────┘
    """
    tables = diagram_tables(stored, include_dlt_tables=include_dlt_tables)
    names = {table.name for table in tables}
    children: dict[str | None, list[Table]] = {}
    for table in tables:
        children.setdefault(table.parent if table.parent in names else None, []).append(table)
    blocks = [_tree(root, children, width, new_columns) for root in children.get(None, ())]
    return "\n".join(line.rstrip() for row in _rows_of_blocks(blocks, width) for line in row)


def _tree(table: Table, children: Children, width: int, new_columns: Collection[tuple[str, str]]) -> Lines:
    """Return the box of a table with those of its nested tables."""
    nested = children.get(table.name, ())
    columns = _shown_columns(table, has_children=bool(nested))
    rows = [_column_cells(column, table, new_columns) for column in columns]
    box = _box(table.name, rows, width)
    if not nested:
        return box
    rest = width - len(box[0]) - _CONNECTOR
    if rest >= _LEAST_WIDTH:
        beside = _beside(box, [_tree(child, children, rest, new_columns) for child in nested])
        if len(beside[0]) <= width and _is_uncut(beside):
            return beside
    return _below(box, [_tree(child, children, width - _INDENT, new_columns) for child in nested])


def _shown_columns(table: Table, *, has_children: bool) -> list[Column]:
    return [
        column
        for column in table.complete_columns()
        if not column.name.startswith(SYSTEM_PREFIX)
        or column.has("parent_key")
        or (has_children and column.has("row_key"))
    ]


def _column_cells(
    column: Column, table: Table, new_columns: Collection[tuple[str, str]]
) -> tuple[str, str, str]:
    marks = [mark for hint, mark in _HINT_MARKS.items() if column.has(hint)]
    if (table.name, column.name) in new_columns:
        marks.append("new")
    return column.name, str(column.data_type), ", ".join(marks)


def _box(title: str, rows: Sequence[tuple[str, ...]], width: int) -> Lines:
    """Return a box with aligned cells; what does not fit into the width is cut."""
    sizes = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    texts = [
        "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True) if size) for row in rows
    ] or [""]
    inner = min(max(len(title), *map(len, texts)), max(width - _BORDERS, 1))
    header = _cut(title, inner)
    return [
        f"┌ {header} {'─' * (inner - len(header))}┐",
        *(f"│ {_cut(text, inner).ljust(inner)} │" for text in texts),
        f"└{'─' * (inner + 2)}┘",
    ]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _is_uncut(lines: Lines) -> bool:
    return not any("…" in line for line in lines)


def _beside(box: Lines, nested: Sequence[Lines]) -> Lines:
    """Return a box with its nested tables to the right of it."""
    right_width = max(len(block[0]) for block in nested)
    right: list[str] = []
    for number, block in enumerate(nested):
        is_last = number == len(nested) - 1
        for row, line in enumerate(block):
            connector = _connector(row, is_first=number == 0, is_last=is_last)
            right.append(connector + _entered(line, row).ljust(right_width))
    parent = [f"{line[:-1]}├" if row == _ANCHOR_ROW else line for row, line in enumerate(box)]
    return [
        line.ljust(len(box[0])) + other.ljust(right_width + _CONNECTOR)
        for line, other in zip_longest(parent, right, fillvalue="")
    ]


def _connector(row: int, *, is_first: bool, is_last: bool) -> str:
    """Return the part of the line between a box and a row of a nested table to its right."""
    if row == _ANCHOR_ROW:
        return ("───" if is_last else "─┬─") if is_first else (" └─" if is_last else " ├─")
    is_above = row < _ANCHOR_ROW
    return "   " if (is_above and is_first) or (not is_above and is_last) else " │ "


def _below(box: Lines, nested: Sequence[Lines]) -> Lines:
    """Return a box with its nested tables indented below it."""
    lines = [*box[:-1], f"└┬{box[-1][2:]}"]
    for number, block in enumerate(nested):
        is_last = number == len(nested) - 1
        for row, line in enumerate(block):
            stem = "└─" if row == _ANCHOR_ROW and is_last else "├─" if row == _ANCHOR_ROW else "│ "
            if row > _ANCHOR_ROW and is_last:
                stem = "  "
            lines.append(f" {stem}{_entered(line, row)}")
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def _entered(line: str, row: int) -> str:
    """Return a row of a nested table, with the end of the line from its parent."""
    return f"┤{line[1:]}" if row == _ANCHOR_ROW else line


def _rows_of_blocks(blocks: Sequence[Lines], width: int) -> list[Lines]:
    """Return the lines of blocks, side by side as far as they fit into the width."""
    rows: list[Lines] = []
    for block in blocks:
        if rows and len(rows[-1][0]) + len(_GAP) + len(block[0]) <= width:
            rows[-1] = _joined(rows[-1], block)
        else:
            rows.append(block)
    return rows


def _joined(block: Lines, next_block: Lines) -> Lines:
    return [
        f"{line.ljust(len(block[0]))}{_GAP}{other.ljust(len(next_block[0]))}"
        for line, other in zip_longest(block, next_block, fillvalue="")
    ]
