"""A schema as an entity diagram in Mermaid, which Markdown pages show as a picture."""

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
    """Write the diagram.

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
    for one in relations(stored, include_dlt_tables=include_dlt_tables):
        ours, _, theirs = one.cardinality.partition("_to_")
        arrow = f"{_CARDINALITY_MARKS[ours][0]}--{_CARDINALITY_MARKS[theirs][1]}"
        lines.append(f'    "{_escape(one.table)}" {arrow} "{_escape(one.to_table)}" : "{_escape(one.label)}"')
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
    said = column.hints.get("description")
    # Mermaid takes words only for attributes; what is no word character is drawn as an underscore.
    words = [str(column.data_type), _NOT_A_WORD.sub("_", column.name), ", ".join(keys)]
    if said and not hide_descriptions:
        words.append(f'"{_escape(said)}"')
    return " ".join(filter(None, words))


def _escape(text: str) -> str:
    return text.replace('"', "'").replace("\n", " ")
