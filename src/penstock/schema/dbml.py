"""Schemas in DBML, the language of dbdiagram.io and of tools that document databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.schema.relations import diagram_tables, relations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.schema.column import Column
    from penstock.schema.relations import TableRelation
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

_SIGNS: Final = {"many_to_one": ">", "one_to_many": "<", "one_to_one": "-", "many_to_many": "<>"}
_ZERO: Final = "zero"


def to_dbml(stored: StoredSchema, *, include_dlt_tables: bool = True) -> str:
    """Return the tables and their relations; a relation to an unknown table is left out."""
    tables = diagram_tables(stored, include_dlt_tables=include_dlt_tables)
    shown = {table.name for table in tables}
    blocks = ["\n".join(_table_lines(table)) for table in tables]
    lines = [
        _reference(relation)
        for relation in relations(stored, include_dlt_tables=include_dlt_tables)
        if relation.to_table in shown
    ]
    return "\n\n".join([*blocks, "\n".join(lines)]).rstrip() + "\n"


def _table_lines(table: Table) -> Iterator[str]:
    yield f"Table {_quote_name(table.name)} {{"
    yield from (f"    {_column_line(column)}" for column in table.complete_columns())
    note = table.extras.get("description")
    if note:
        yield f"    Note: {_quote_text(note)}"
    yield "}"


def _column_line(column: Column) -> str:
    facts = ["pk"] if column.has("primary_key") else []
    facts += ["unique"] if column.has("unique") else []
    facts += [] if column.is_nullable else ["not null"]
    description = column.hints.get("description")
    facts += [f"note: {_quote_text(description)}"] if description else []
    settings = f" [{', '.join(facts)}]" if facts else ""
    return f"{_quote_name(column.name)} {column.data_type}{settings}"


def _reference(relation: TableRelation) -> str:
    # DBML has no sign for "zero or one".
    sign = _SIGNS[relation.cardinality.replace(_ZERO, "one")]
    source = _endpoint(relation.table, relation.columns)
    target = _endpoint(relation.to_table, relation.to_columns)
    return f"Ref: {source} {sign} {target}"


def _endpoint(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(map(_quote_name, columns))
    return f"{_quote_name(table)}.{names}" if len(columns) == 1 else f"{_quote_name(table)}.({names})"


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', "'") + '"'


def _quote_text(text: Any) -> str:
    escaped = str(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'''{escaped}'''" if "\n" in escaped else f"'{escaped}'"
