"""Entity diagrams of schemas in Mermaid, which Markdown pages render."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from penstock.schema.relations import diagram_tables, relations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.schema.column import Column
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

_CARDINALITY_MARKS: Final = {"zero": ("|o", "o|"), "one": ("||", "||"), "many": ("}o", "o{")}
_NOT_A_WORD: Final = re.compile(r"\W")


def to_mermaid(
    stored: StoredSchema,
    *,
    hide_columns: bool = False,
    hide_descriptions: bool = False,
    include_dlt_tables: bool = True,
) -> str:
    """Return the diagram.

    >>> from penstock.schema import Schema
    >>> print(to_mermaid(Schema("shop").stored, hide_columns=True))
    erDiagram
        "_dlt_version"
        "_dlt_loads"
        "_dlt_loads" }o--|| "_dlt_version" : "_dlt_schema_version"
    """
    lines = ["erDiagram"]
    for table in diagram_tables(stored, include_dlt_tables=include_dlt_tables):
        lines += _entity(table, hide_columns=hide_columns, hide_descriptions=hide_descriptions)
    for relation in relations(stored, include_dlt_tables=include_dlt_tables):
        source, _, target = relation.cardinality.partition("_to_")
        arrow = f"{_CARDINALITY_MARKS[source][0]}--{_CARDINALITY_MARKS[target][1]}"
        ends = f'"{_escape(relation.table)}" {arrow} "{_escape(relation.to_table)}"'
        lines.append(f'    {ends} : "{_escape(relation.label)}"')
    return "\n".join(lines)


def _entity(table: Table, *, hide_columns: bool, hide_descriptions: bool) -> Iterator[str]:
    if hide_columns or not table.complete_columns():
        yield f'    "{_escape(table.name)}"'
        return
    yield f'    "{_escape(table.name)}" {{'
    for column in table.complete_columns():
        yield f"        {_attribute(column, hide_descriptions=hide_descriptions)}"
    yield "    }"


def _attribute(column: Column, *, hide_descriptions: bool) -> str:
    keys = [
        mark
        for mark, hints in {
            "PK": ("primary_key",),
            "FK": ("parent_key", "root_key"),
            "UK": ("unique",),
        }.items()
        if any(column.has(hint) for hint in hints)
    ]
    description = column.hints.get("description")
    # Mermaid allows only word characters in attributes.
    words = [str(column.data_type), _NOT_A_WORD.sub("_", column.name), ", ".join(keys)]
    if description and not hide_descriptions:
        words.append(f'"{_escape(description)}"')
    return " ".join(filter(None, words))


def _escape(text: str) -> str:
    return text.replace('"', "'").replace("\n", " ")
