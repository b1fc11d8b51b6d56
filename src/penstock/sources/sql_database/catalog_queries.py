"""What a database is asked about its tables, kind by kind.

Without an order: Spark puts brackets around a query, and SQL Server takes none in there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

if TYPE_CHECKING:
    from penstock.sources.sql_database.dialects import Dialect

# A domain counts as the type that it is made of, an array as an array of whatever.
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
# MySQL says that numbers without a sign are so in another place, and how many bits there are.
_MYSQL_DATA_TYPE_SQL: Final = """CASE WHEN c.COLUMN_TYPE LIKE 'bigint%unsigned%' THEN 'bigint unsigned'
    WHEN c.COLUMN_TYPE = 'bit(64)' THEN '64 bits' WHEN c.COLUMN_TYPE = 'bit(1)' THEN 'bit'
    WHEN c.DATA_TYPE = 'bit' THEN 'bits' ELSE c.DATA_TYPE END"""
_DATA_TYPE_SQL: Final = {
    "mysql": _MYSQL_DATA_TYPE_SQL,
    "information_schema": "c.DATA_TYPE",
}


def columns_query(dialect: Dialect, schema: str, tables: tuple[str, ...] | None) -> str:
    """One row for each column of these tables, or of all that there are."""
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
    """One row for each column of their keys and references, and for each column that is unique by itself."""
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
    return f" AND {column} IN ({', '.join(_literal(one, dialect) for one in tables) or 'NULL'})"


def _literal(text: str, dialect: Dialect) -> str:
    return exp.Literal.string(text).sql(dialect=dialect.sqlglot_dialect)
