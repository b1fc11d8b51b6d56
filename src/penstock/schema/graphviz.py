"""Diagrams of schemas in Graphviz's DOT, for `dot -Tpng`."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from penstock.schema.relations import diagram_tables, relations

if TYPE_CHECKING:
    from penstock.schema.column import Column
    from penstock.schema.relations import TableRelation
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

_PREAMBLE: Final = """digraph {
    graph [rankdir=LR, nodesep=0.4, ranksep=1.2, fontname="Helvetica"]
    node [shape=plain, fontname="Helvetica", fontsize=11]
    edge [fontname="Helvetica", fontsize=9, color="#666666", dir=both]"""
_ARROWS: Final = {"zero": "teeodot", "one": "tee", "many": "crow"}
_SYSTEM_COLOUR, _DATA_COLOUR = "#d9d9d9", "#c6e2f5"


def to_dot(stored: StoredSchema, *, hide_columns: bool = False, include_dlt_tables: bool = True) -> str:
    """Return the diagram: a box for each table with its columns, a line for each relation."""
    tables = diagram_tables(stored, include_dlt_tables=include_dlt_tables)
    shown = {table.name: table for table in tables}
    lines = [_PREAMBLE, *(_node(table, hide_columns=hide_columns) for table in tables)]
    lines += [
        _edge(relation, shown, hide_columns=hide_columns)
        for relation in relations(stored, include_dlt_tables=include_dlt_tables)
    ]
    return "\n".join([*lines, "}"])


def _node(table: Table, *, hide_columns: bool) -> str:
    colour = _SYSTEM_COLOUR if table.name.startswith("_dlt") else _DATA_COLOUR
    rows = [f'<tr><td port="_" bgcolor="{colour}" colspan="2"><b>{escape(table.name)}</b></td></tr>']
    if not hide_columns:
        rows += [_row(number, column) for number, column in enumerate(table.complete_columns())]
    label = f'<table border="0" cellborder="1" cellspacing="0" cellpadding="4">{"".join(rows)}</table>'
    return f"    {_quote(table.name)} [label=<{label}>]"


def _row(number: int, column: Column) -> str:
    name = escape(column.name)
    marked = f"<b>{name}</b>" if column.has("primary_key") or column.has("row_key") else name
    kind = escape(f"{column.data_type}{'' if column.is_nullable else ' not null'}")
    ends = f'<td align="left" port="w{number}">{marked}</td><td align="left" port="e{number}">{kind}</td>'
    return f"<tr>{ends}</tr>"


def _edge(relation: TableRelation, shown: dict[str, Table], *, hide_columns: bool) -> str:
    source, _, target = relation.cardinality.partition("_to_")
    tail = _port(relation.table, relation.columns, shown, side="e", hide_columns=hide_columns)
    head = _port(relation.to_table, relation.to_columns, shown, side="w", hide_columns=hide_columns)
    facts = f"label={_quote(relation.label)}, arrowtail={_ARROWS[source]}, arrowhead={_ARROWS[target]}"
    return f"    {tail} -> {head} [{facts}]"


def _port(
    table: str, columns: tuple[str, ...], shown: dict[str, Table], *, side: str, hide_columns: bool
) -> str:
    """Return the port of the first column in its box; a table that is not drawn has no ports."""
    if table not in shown:
        return _quote(table)
    names = [column.name for column in shown[table].complete_columns()]
    if hide_columns or columns[0] not in names:
        return f"{_quote(table)}:_"
    return f"{_quote(table)}:{side}{names.index(columns[0])}"


def _quote(text: str) -> str:
    # Outside of HTML labels, DOT escapes only the quote and the backslash.
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
