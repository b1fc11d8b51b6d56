"""The types of columns: select expressions, hints, and keys for ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.sources.sql_database.dialects import Dialect
    from penstock.sources.sql_database.reflection import ReflectedColumn

KeyKind = Literal["number", "date", "moment", "text"]
ReflectionLevel = Literal["minimal", "full", "full_with_precision"]
_MAX_PRECISION: Final = 38
_TYPES_WITH_PRECISION: Final = frozenset(("text", "binary", "timestamp", "time"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMapping:
    """The mapping of one database type."""

    data_type: str
    select_expression: str | None = None
    """The expression to select it, if Spark cannot read the column directly."""
    key_kind: KeyKind | None = None
    timezone: bool | None = None
    precision_and_scale: tuple[int, int] | None = None
    """Precision and scale, if the database does not report them."""

    @property
    def is_text_encoded(self) -> bool:
        """Whether values of another type are read as text."""
        return (
            self.select_expression is not None
            and self.precision_and_scale is None
            and self.data_type in _TEXT_ENCODED
        )


_TEXT_ENCODED: Final = frozenset(("json", "time", "decimal"))
_NUMBER: Final = TypeMapping(data_type="bigint", key_kind="number")
_TEXT: Final = TypeMapping(data_type="text", key_kind="text")
_DATE: Final = TypeMapping(data_type="date", key_kind="date")
_DOUBLE: Final = TypeMapping(data_type="double")
_BINARY: Final = TypeMapping(data_type="binary")
_DECIMAL: Final = TypeMapping(data_type="decimal", key_kind="number")
_TIMESTAMP: Final = TypeMapping(data_type="timestamp", key_kind="moment", timezone=True)
_LOCAL_TIMESTAMP: Final = TypeMapping(data_type="timestamp", key_kind="moment", timezone=False)
_CAST_TO_TEXT: Final = "CAST({} AS TEXT)"

# Any other type of Postgres is read as its text representation.
_POSTGRES: Final[Mapping[str, TypeMapping]] = {
    **dict.fromkeys(("smallint", "integer", "bigint"), _NUMBER),
    "oid": TypeMapping(data_type="bigint", select_expression="CAST({} AS BIGINT)", key_kind="number"),
    "boolean": TypeMapping(data_type="bool"),
    **dict.fromkeys(("real", "double precision"), _DOUBLE),
    "numeric": _DECIMAL,
    "money": TypeMapping(
        data_type="decimal",
        select_expression="CAST(CAST({} AS NUMERIC) AS NUMERIC(20, 2))",
        precision_and_scale=(20, 2),
    ),
    **dict.fromkeys(("text", "character varying", "character"), _TEXT),
    "uuid": TypeMapping(data_type="text", select_expression=_CAST_TO_TEXT, key_kind="text"),
    "bytea": _BINARY,
    "date": _DATE,
    "timestamp with time zone": _TIMESTAMP,
    "timestamp without time zone": _LOCAL_TIMESTAMP,
    "time without time zone": TypeMapping(data_type="time", select_expression=_CAST_TO_TEXT),
    **dict.fromkeys(("json", "jsonb"), TypeMapping(data_type="json", select_expression=_CAST_TO_TEXT)),
    "array": TypeMapping(data_type="json", select_expression="CAST(TO_JSON({}) AS TEXT)"),
}
_POSTGRES_OTHER: Final = TypeMapping(data_type="text", select_expression=_CAST_TO_TEXT)
_MYSQL: Final[Mapping[str, TypeMapping]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), _NUMBER),
    # Exceeds a signed 64-bit integer.
    "bigint unsigned": TypeMapping(data_type="decimal", precision_and_scale=(20, 0), key_kind="number"),
    "year": TypeMapping(data_type="bigint", select_expression="CAST({} AS SIGNED)"),
    **dict.fromkeys(("float", "double"), _DOUBLE),
    "decimal": _DECIMAL,
    **dict.fromkeys(("varchar", "tinytext", "text", "mediumtext", "longtext"), _TEXT),
    # Spark would pad fixed-length values with spaces.
    **dict.fromkeys(
        ("char", "enum", "set"),
        TypeMapping(data_type="text", select_expression="CAST({} AS CHAR)", key_kind="text"),
    ),
    **dict.fromkeys(
        ("uuid", "inet4", "inet6"), TypeMapping(data_type="text", select_expression="CAST({} AS CHAR)")
    ),
    "bit": TypeMapping(data_type="bool"),
    # Spark would read them as bytes.
    "bits": TypeMapping(data_type="bigint", select_expression="CAST({} AS SIGNED)"),
    "64 bits": TypeMapping(
        data_type="decimal", select_expression="CAST({} AS UNSIGNED)", precision_and_scale=(20, 0)
    ),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _BINARY),
    "date": _DATE,
    "datetime": _LOCAL_TIMESTAMP,
    "timestamp": TypeMapping(data_type="timestamp", timezone=True),
    "time": TypeMapping(data_type="time", select_expression="CAST({} AS CHAR)"),
    "json": TypeMapping(data_type="json", select_expression="CAST({} AS CHAR)"),
}
_SQL_SERVER: Final[Mapping[str, TypeMapping]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _NUMBER),
    "bit": TypeMapping(data_type="bool"),
    **dict.fromkeys(("real", "float"), _DOUBLE),
    **dict.fromkeys(("decimal", "numeric", "money", "smallmoney"), _DECIMAL),
    **dict.fromkeys(("char", "varchar", "nchar", "nvarchar", "text", "ntext"), _TEXT),
    "uniqueidentifier": TypeMapping(data_type="text", select_expression="CAST({} AS VARCHAR(36))"),
    **dict.fromkeys(("binary", "varbinary", "image"), _BINARY),
    "date": _DATE,
    **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), _LOCAL_TIMESTAMP),
    "time": TypeMapping(data_type="time", select_expression="CAST({} AS VARCHAR(16))"),
}
# Types of Spark, for columns that were not reflected.
_KEY_KINDS_OF_SPARK: Final[Mapping[str, KeyKind]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "decimal"), "number"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "moment"),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
}
_POSTGRES_TYPES_OF_SPARK: Final[Mapping[str, str]] = {
    "char": "bpchar",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}
_BPCHAR: Final = {"character": "bpchar"}
_DATE_TYPES: Final = frozenset(("date", "timestamp", "moment"))
_MAPPINGS: Final = {"postgres": _POSTGRES, "mysql": _MYSQL, "information_schema": _SQL_SERVER}


def type_mapping(column: ReflectedColumn, dialect: Dialect) -> TypeMapping | None:
    """Return the mapping of a column's type; None for an unknown type, which Spark maps itself.

    Decimals with more digits than Spark supports are read as text, so that they are not rounded.
    """
    mapping = _MAPPINGS.get(dialect.catalog, {}).get(column.database_type)
    if mapping is None:
        return _POSTGRES_OTHER if dialect.catalog == "postgres" else None
    if mapping is _DECIMAL and (column.precision is None or column.precision > _MAX_PRECISION):
        as_text = _CAST_TO_TEXT if dialect.catalog == "postgres" else "CAST({} AS CHAR)"
        return TypeMapping(data_type="decimal", select_expression=as_text, key_kind="number")
    return mapping


def spark_key_kind(spark_type: str) -> KeyKind | None:
    """Return the kind of key of a Spark type; None if it cannot be divided into ranges.

    >>> spark_key_kind("decimal(10,2)"), spark_key_kind("timestamp_ntz"), spark_key_kind("array<int>")
    ('number', 'moment', None)
    """
    return _KEY_KINDS_OF_SPARK.get(spark_type.partition("(")[0])


def postgres_type(spark_type: str) -> str | None:
    """Return the Postgres type of a Spark type; None if several types are possible.

    >>> postgres_type("timestamp"), postgres_type("varchar(20)")
    ('timestamp with time zone', None)
    """
    return _POSTGRES_TYPES_OF_SPARK.get(spark_type.partition("(")[0])


def has_own_order(database_type: str) -> bool:
    """Return whether a Postgres type, such as an address or an enum, is not ordered like its text.

    >>> has_own_order("inet"), has_own_order("uuid"), has_own_order("bigint")
    (True, False, False)
    """
    return database_type not in _POSTGRES and database_type != "bpchar"


def postgres_comparison(
    columns: Iterable[ReflectedColumn], spark_types: Mapping[str, str]
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return the Postgres types of columns, and the columns to compare by the bytes of their text.

    `spark_types` are the types of columns that were not reflected.
    """
    types = {column.name: _BPCHAR.get(column.database_type, column.database_type) for column in columns}
    texts = {name for name, data_type in types.items() if has_own_order(data_type)}
    for name, spark_type in spark_types.items():
        if data_type := postgres_type(spark_type):
            types[name] = data_type
        elif spark_key_kind(spark_type) == "text":
            texts.add(name)
    return tuple(item for item in types.items() if item[0] not in texts), frozenset(texts)


def mysql_comparison(
    columns: Iterable[ReflectedColumn], spark_types: Mapping[str, str], dialect: Dialect
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the text columns, and the columns with dates or timestamps.

    >>> from penstock.sources.sql_database.dialects import DIALECTS
    >>> mysql_comparison((), {"name": "varchar(9)", "at": "timestamp_ntz", "n": "int"}, DIALECTS["mysql"])
    (frozenset({'name'}), frozenset({'at'}))
    """
    reflected = {column.name: type_mapping(column, dialect) for column in columns}
    types: dict[str, str | None] = {name: mapping.data_type for name, mapping in reflected.items() if mapping}
    types |= {name: spark_key_kind(spark_type) for name, spark_type in spark_types.items()}
    texts = frozenset(name for name, data_type in types.items() if data_type == "text")
    return texts, frozenset(name for name, data_type in types.items() if data_type in _DATE_TYPES)


def column_hint(
    column: ReflectedColumn, mapping: TypeMapping | None, *, level: ReflectionLevel, is_key: bool = False
) -> dict[str, Any]:
    """Return the hint of a column for a reflection level: its type, nullability and precision."""
    hint: dict[str, Any] = {"name": column.name, "nullable": column.nullable and not is_key}
    # Always for values that are read as text, which would otherwise become text columns.
    if mapping is not None and (level != "minimal" or mapping.data_type in {"json", "time"}):
        hint["data_type"] = mapping.data_type
        if mapping.timezone is False and level == "full_with_precision":
            hint["timezone"] = False
    if mapping is not None and mapping.data_type == "decimal":
        precision, scale = mapping.precision_and_scale or (column.precision, column.scale or 0)
        if not mapping.is_text_encoded:
            hint |= {"precision": precision, "scale": scale}
    elif (
        level == "full_with_precision" and column.precision and hint.get("data_type") in _TYPES_WITH_PRECISION
    ):
        hint["precision"] = column.precision
    return hint
