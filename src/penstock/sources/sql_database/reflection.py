"""Reflection of tables: catalog queries, and records of their columns, keys and references.

The queries have no ORDER BY: Spark wraps them in a subquery, where SQL Server does not accept it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.sources.sql_database.dialects import Dialect

VIEW: Final = "view"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedColumn:
    """A column with its database type, without precision."""

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
    """A table or view. Columns are empty if it was not reflected."""

    name: str
    columns: tuple[ReflectedColumn, ...] = ()
    primary_key: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    """Columns with a unique constraint of one column."""
    references: tuple[ReflectedForeignKey, ...] = ()
    is_view: bool = False
    size: int | None = None
    """The size in bytes; None if the database does not report it."""
    heap: int | None = None
    """The size in bytes of the pages for samples."""

    def column(self, name: str) -> ReflectedColumn | None:
        """Return the column with a name, or None."""
        return next((column for column in self.columns if column.name == name), None)


def reflected_tables(
    columns: Iterable[Mapping[str, Any]], keys: Iterable[Mapping[str, Any]] = ()
) -> dict[str, ReflectedTable]:
    """Return the tables of catalog rows, one row for each column and one for each column of a key.

    `at` is the position of a column in its table or key; `kind` of a key is primary, foreign or unique.
    """
    column_rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(columns, key=lambda row: (row["table_name"], row["at"])):
        column_rows[row["table_name"]].append(row)
    key_rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(keys, key=lambda row: (row["key_name"], row["at"])):
        key_rows[row["table_name"]].append(row)
    return {name: _table(name, rows, key_rows[name]) for name, rows in column_rows.items()}


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
                columns=tuple(row["column_name"] for row in key_rows),
                referenced_table=key_rows[0]["other_table"],
                referenced_columns=tuple(row["other_column"] for row in key_rows),
            )
            for key_rows in foreign.values()
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


# A domain has the type that it is based on; all arrays have one type.
_POSTGRES_COLUMNS: Final = """
SELECT c.relname AS table_name, a.attname AS column_name, a.attnum AS at,
  CASE WHEN c.relkind IN ('v') THEN 'view' ELSE 'table' END AS table_kind,
  CASE WHEN b.typcategory = 'A' THEN 'array'
       ELSE regexp_replace(format_type(b.oid, NULL), '"', '', 'g') END AS data_type,
  NOT a.attnotnull AS nullable,
  COALESCE(information_schema._pg_char_max_length(b.oid, m.typmod),
    CASE WHEN b.typname = 'numeric' THEN information_schema._pg_numeric_precision(b.oid, m.typmod) END,
    CASE WHEN m.typmod >= 0 THEN information_schema._pg_datetime_precision(b.oid, m.typmod) END) AS digits,
  CASE WHEN b.typname = 'numeric' THEN information_schema._pg_numeric_scale(b.oid, m.typmod) END AS scale,
  CASE WHEN c.relkind <> 'v' THEN COALESCE(
    (SELECT SUM(pg_table_size(p.relid)) FROM pg_partition_tree(c.oid) p), pg_table_size(c.oid)) END AS size,
  CASE WHEN c.relkind <> 'v' THEN COALESCE(
    (SELECT SUM(pg_relation_size(p.relid)) FROM pg_partition_tree(c.oid) p), pg_relation_size(c.oid)) END
    AS heap
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod) m
WHERE n.nspname = {schema} AND c.relkind IN ('r', 'p', 'v', 'm', 'f'){tables}
"""
_POSTGRES_KEYS: Final = """
SELECT c.relname AS table_name, k.conname AS key_name, a.attname AS column_name, u.at AS at,
  CASE k.contype WHEN 'p' THEN 'primary' ELSE 'foreign' END AS kind,
  o.relname AS other_table, oa.attname AS other_column
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS u (attnum, at)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.attnum
LEFT JOIN pg_class o ON o.oid = k.confrelid
LEFT JOIN pg_attribute oa ON oa.attrelid = k.confrelid AND oa.attnum = k.confkey[u.at]
WHERE n.nspname = {schema} AND k.contype IN ('p', 'f'){tables}
UNION ALL
SELECT c.relname, i.relname, a.attname, 1, 'unique', NULL, NULL
FROM pg_index x
JOIN pg_class c ON c.oid = x.indrelid
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_am m ON m.oid = i.relam AND m.amname = 'btree'
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.indkey[0]
WHERE n.nspname = {schema} AND x.indisvalid AND x.indpred IS NULL
  AND x.indisunique AND x.indnkeyatts = 1{tables}
"""
_COLUMNS: Final = """
SELECT c.TABLE_NAME AS table_name, c.COLUMN_NAME AS column_name, c.ORDINAL_POSITION AS at,
  CASE t.TABLE_TYPE WHEN 'VIEW' THEN 'view' ELSE 'table' END AS table_kind,
  {kind} AS data_type, c.IS_NULLABLE AS nullable,
  COALESCE(c.CHARACTER_MAXIMUM_LENGTH, c.NUMERIC_PRECISION, c.DATETIME_PRECISION) AS digits,
  c.NUMERIC_SCALE AS scale, {size} AS size
FROM INFORMATION_SCHEMA.COLUMNS c
JOIN INFORMATION_SCHEMA.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
WHERE c.TABLE_SCHEMA = {schema}{tables}
"""
_MYSQL_KEYS: Final = """
SELECT c.TABLE_NAME AS table_name, c.CONSTRAINT_NAME AS key_name, c.COLUMN_NAME AS column_name,
  CASE WHEN c.CONSTRAINT_NAME = 'PRIMARY' THEN 'primary' ELSE 'foreign' END AS kind,
  c.REFERENCED_TABLE_NAME AS other_table, c.REFERENCED_COLUMN_NAME AS other_column, c.ORDINAL_POSITION AS at
FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE c
WHERE c.TABLE_SCHEMA = {schema}{tables}
  AND (c.CONSTRAINT_NAME = 'PRIMARY' OR c.REFERENCED_TABLE_NAME IS NOT NULL)
UNION ALL
SELECT c.TABLE_NAME, c.INDEX_NAME, MAX(c.COLUMN_NAME), 'unique', NULL, NULL, 1
FROM INFORMATION_SCHEMA.STATISTICS c
WHERE c.TABLE_SCHEMA = {schema} AND c.NON_UNIQUE = 0{tables}
GROUP BY c.TABLE_NAME, c.INDEX_NAME
HAVING COUNT(*) = 1
"""
_SQL_SERVER_KEYS: Final = """
SELECT c.TABLE_NAME AS table_name, c.CONSTRAINT_NAME AS key_name, c.COLUMN_NAME AS column_name,
  CASE t.CONSTRAINT_TYPE WHEN 'PRIMARY KEY' THEN 'primary' ELSE 'foreign' END AS kind,
  o.TABLE_NAME AS other_table, o.COLUMN_NAME AS other_column, c.ORDINAL_POSITION AS at
FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE c
JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS t
  ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME
LEFT JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS r
  ON r.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = c.CONSTRAINT_NAME
LEFT JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE o
  ON o.CONSTRAINT_SCHEMA = r.UNIQUE_CONSTRAINT_SCHEMA AND o.CONSTRAINT_NAME = r.UNIQUE_CONSTRAINT_NAME
  AND o.ORDINAL_POSITION = c.ORDINAL_POSITION
WHERE c.TABLE_SCHEMA = {schema} AND t.CONSTRAINT_TYPE IN ('PRIMARY KEY', 'FOREIGN KEY'){tables}
"""
_SIZE_SQL: Final = {"mysql": "COALESCE(t.DATA_LENGTH, 0)", "information_schema": "NULL"}
# COLUMN_TYPE shows what DATA_TYPE of MySQL does not: unsigned numbers and the number of bits.
_MYSQL_DATA_TYPE_SQL: Final = """CASE WHEN c.COLUMN_TYPE LIKE 'bigint%unsigned%' THEN 'bigint unsigned'
    WHEN c.COLUMN_TYPE = 'bit(64)' THEN '64 bits' WHEN c.COLUMN_TYPE = 'bit(1)' THEN 'bit'
    WHEN c.DATA_TYPE = 'bit' THEN 'bits' ELSE c.DATA_TYPE END"""
_DATA_TYPE_SQL: Final = {
    "mysql": _MYSQL_DATA_TYPE_SQL,
    "information_schema": "c.DATA_TYPE",
}


def columns_query(dialect: Dialect, schema: str, tables: tuple[str, ...] | None) -> str:
    """Return the query for the columns of these tables, or of all tables."""
    if dialect.catalog == "postgres":
        return _POSTGRES_COLUMNS.format(
            schema=_literal(schema, dialect), tables=_table_filter("c.relname", tables, dialect)
        )
    return _COLUMNS.format(
        schema=_literal(schema, dialect),
        tables=_table_filter("c.TABLE_NAME", tables, dialect),
        size=_SIZE_SQL[dialect.catalog],
        kind=_DATA_TYPE_SQL[dialect.catalog],
    )


def keys_query(dialect: Dialect, schema: str, tables: tuple[str, ...] | None) -> str:
    """Return the query for the columns of keys, references and unique constraints of one column."""
    if dialect.catalog == "postgres":
        return _POSTGRES_KEYS.format(
            schema=_literal(schema, dialect), tables=_table_filter("c.relname", tables, dialect)
        )
    text = _MYSQL_KEYS if dialect.catalog == "mysql" else _SQL_SERVER_KEYS
    return text.format(
        schema=_literal(schema, dialect), tables=_table_filter("c.TABLE_NAME", tables, dialect)
    )


def _table_filter(column: str, tables: tuple[str, ...] | None, dialect: Dialect) -> str:
    if tables is None:
        return ""
    return f" AND {column} IN ({', '.join(_literal(table, dialect) for table in tables) or 'NULL'})"


def _literal(text: str, dialect: Dialect) -> str:
    return exp.Literal.string(text).sql(dialect=dialect.sqlglot_dialect)
