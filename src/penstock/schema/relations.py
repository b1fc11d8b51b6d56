"""Relations between the tables of a schema: to parents, roots and loads, and declared references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.schema.defaults import LOAD_ID_COLUMN, LOADS_TABLE, SYSTEM_PREFIX, VERSION_TABLE
from penstock.schema.system_columns import root_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.table import Table

DEFAULT_CARDINALITY: Final = "many_to_one"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRelation:
    """Columns of one table that refer to rows of another."""

    table: str
    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    label: str = ""
    cardinality: str = DEFAULT_CARDINALITY

    def to_dict(self) -> dict[str, Any]:
        """Return the reference as a document, with its table."""
        label = {"label": self.label} if self.label else {}
        return label | {
            "cardinality": self.cardinality,
            "table": self.table,
            "columns": list(self.columns),
            "referenced_table": self.to_table,
            "referenced_columns": list(self.to_columns),
        }


def relations(stored: StoredSchema, *, include_dlt_tables: bool = True) -> tuple[TableRelation, ...]:
    """Return the relations between the tables of a schema: declared ones and those of system columns."""
    tables = stored.tables.values()
    all_relations = [
        relation
        for table in tables
        for relation in (*_declared_relations(table), *_nesting_relations(table, stored))
    ]
    if include_dlt_tables:
        all_relations += [relation for table in tables for relation in _load_relations(table)]
        all_relations.append(
            TableRelation(
                table=LOADS_TABLE,
                columns=("schema_version_hash",),
                to_table=VERSION_TABLE,
                to_columns=("version_hash",),
                label="_dlt_schema_version",
            )
        )
        return tuple(all_relations)
    return tuple(relation for relation in all_relations if not relation.table.startswith(SYSTEM_PREFIX))


def diagram_tables(stored: StoredSchema, *, include_dlt_tables: bool = True) -> tuple[Table, ...]:
    """Return the tables that a diagram shows."""
    return tuple(
        table
        for name, table in stored.tables.items()
        if include_dlt_tables or not name.startswith(SYSTEM_PREFIX)
    )


def _declared_relations(table: Table) -> Iterator[TableRelation]:
    for reference in table.extras.get("references") or ():
        yield TableRelation(
            table=table.name,
            columns=tuple(reference["columns"]),
            to_table=reference["referenced_table"],
            to_columns=tuple(reference["referenced_columns"]),
            label=reference.get("label", ""),
            cardinality=reference.get("cardinality", DEFAULT_CARDINALITY),
        )


def _nesting_relations(table: Table, stored: StoredSchema) -> Iterator[TableRelation]:
    if table.parent is None or table.parent not in stored.tables:
        return
    links = {"parent_key": stored.tables[table.parent], "root_key": root_table(table.name, stored.tables)}
    for hint, target in links.items():
        key, to = table.columns_with(hint), target.columns_with("row_key")
        if key and to:
            label = f"_dlt_{hint.removesuffix('_key')}"
            yield TableRelation(
                table=table.name, columns=key[:1], to_table=target.name, to_columns=to[:1], label=label
            )


def _load_relations(table: Table) -> Iterator[TableRelation]:
    if LOAD_ID_COLUMN in table.columns:
        columns, to_columns = (LOAD_ID_COLUMN,), ("load_id",)
        yield TableRelation(
            table=table.name, columns=columns, to_table=LOADS_TABLE, to_columns=to_columns, label="_dlt_load"
        )
