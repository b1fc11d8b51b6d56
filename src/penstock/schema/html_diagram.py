"""Diagrams of schemas as HTML: tables as boxes with lines to nested tables, and the facts of each table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from penstock.pages.elements import Html, element, facts, fragment, table_element
from penstock.schema.column import COLUMN_HINTS
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.frozen_map import thaw
from penstock.schema.relations import diagram_tables, relations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.pages.elements import Content
    from penstock.schema.column import Column
    from penstock.schema.relations import TableRelation
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

_MOST_COLUMNS: Final = 12
"""The columns in a box; the facts of a table have all of them."""
_OWN_EXTRAS: Final = frozenset(("references", "x-normalizer"))
"""Keys of tables that are shown in another form, or that only loads need."""
_OTHER_FACTS: Final = ("write_disposition", "resource", "parent")


def to_html_diagram(stored: StoredSchema, *, anchors: str | None = None) -> Html:
    """Return the diagram of the data tables; with `anchors`, boxes link to the facts of their tables.

    >>> from penstock.schema import Schema
    >>> shop = Schema("shop")
    >>> _ = shop.update_table({"name": "orders", "columns": {"id": {"data_type": "bigint"}}})
    >>> "<strong>orders</strong>" in to_html_diagram(shop.stored)
    True
    """
    tables = diagram_tables(stored, include_dlt_tables=False)
    names = {table.name for table in tables}
    children: dict[str | None, list[Table]] = {}
    for table in tables:
        children.setdefault(table.parent if table.parent in names else None, []).append(table)
    links = {} if anchors is None else _anchors(stored, anchors)
    boxes = [_tree(root, children, links) for root in children.get(None, ())]
    return element("ul", boxes, class_="diagram")


def table_sections(stored: StoredSchema, *, anchors: str) -> Html:
    """Return a section for each data table: its columns, keys and hints, and its references."""
    links = _anchors(stored, anchors)
    by_table: dict[str, list[TableRelation]] = {}
    for relation in relations(stored, include_dlt_tables=False):
        by_table.setdefault(relation.table, []).append(relation)
    return fragment(
        _table_section(table, by_table.get(table.name, ()), links[table.name])
        for table in diagram_tables(stored, include_dlt_tables=False)
    )


def _anchors(stored: StoredSchema, prefix: str) -> dict[str, str]:
    """Return the anchors of tables: numbers, as a name may have any character."""
    tables = diagram_tables(stored, include_dlt_tables=False)
    return {table.name: f"{prefix}-{position}" for position, table in enumerate(tables)}


def _tree(table: Table, children: Mapping[str | None, Sequence[Table]], links: Mapping[str, str]) -> Html:
    """Return the box of a table and, in a list, those of its nested tables."""
    nested = [_tree(child, children, links) for child in children.get(table.name, ())]
    words = " ".join([table.name, *(column.name for column in _data_columns(table))]).lower()
    box = table_box(table, link=links.get(table.name))
    return element("li", box, element("ul", nested) if nested else None, data_words=words)


def table_box(table: Table, *, link: str | None = None) -> Html:
    """Return the box of a table with its data columns and their types."""
    title = element("strong", table.name) if link is None else element("a", table.name, href=f"#{link}")
    columns = _data_columns(table)
    shown = columns if len(columns) <= _MOST_COLUMNS + 1 else columns[:_MOST_COLUMNS]
    pairs = [(element("dt", column.name), element("dd", _short_type(column))) for column in shown]
    rest = len(columns) - len(shown)
    return element(
        "div",
        title,
        element("dl", pairs) if pairs else None,
        element("p", f"and {rest} more") if rest else None,
        class_="box",
    )


def _data_columns(table: Table) -> list[Column]:
    return [column for column in table.complete_columns() if not column.name.startswith(SYSTEM_PREFIX)]


def _short_type(column: Column) -> str:
    marks = [mark for hint, mark in {"primary_key": "key", "variant": "variant"}.items() if column.has(hint)]
    return ", ".join([str(column.data_type), *marks])


def _table_section(table: Table, references: Sequence[TableRelation], anchor: str) -> Html:
    heading = f"{anchor}-title"
    pairs: list[tuple[str, Content]] = [(name, _fact(table.get(name))) for name in _OTHER_FACTS]
    pairs += [(name, _fact(value)) for name, value in table.extras.items() if name not in _OWN_EXTRAS]
    rows = [
        (column.name, _full_type(column), "yes" if column.is_nullable else "no", _hints(column))
        for column in table.columns.values()
    ]
    lines = [
        f"{', '.join(relation.columns)} → {relation.to_table} ({', '.join(relation.to_columns)})"
        for relation in references
    ]
    return element(
        "section",
        element("h3", table.name, id=heading, tabindex=-1),
        facts(pairs),
        table_element(f"Columns of {table.name}", ["column", "type", "nullable", "keys and hints"], rows),
        facts([("references", ", ".join(lines))]) if lines else None,
        id=anchor,
        aria_labelledby=heading,
    )


def _full_type(column: Column) -> str:
    sizes = [str(size) for size in (column.precision, column.scale) if size is not None]
    without_zone = " without time zone" if column.timezone is False else ""
    size = f"({', '.join(sizes)})" if sizes else ""
    return f"{column.data_type or 'not known yet'}{size}{without_zone}"


def _hints(column: Column) -> str:
    return ", ".join(_hint_texts(column))


def _hint_texts(column: Column) -> Iterator[str]:
    for name, value in column.hints.items():
        if name in COLUMN_HINTS and value is True:
            yield name.replace("_", " ")
        elif value is not None and value is not False:
            yield f"{name}: {_fact(value)}"


def _fact(value: Any) -> str | None:
    """Return a value of a schema document as text; None for one that is empty."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(thaw(value), default=str, ensure_ascii=False)
