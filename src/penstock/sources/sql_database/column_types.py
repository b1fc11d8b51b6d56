"""What becomes of a column: how it is selected, what is said of it, and whether ranges can be cut of it."""

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
    """One row of the table of types."""

    data_type: str
    select_expression: str | None = None
    """How it is selected, where Spark cannot read it as it is."""
    key_kind: KeyKind | None = None
    timezone: bool | None = None
    precision_and_scale: tuple[int, int] | None = None
    """Precision and scale, where the database does not say them."""

    @property
    def is_text_encoded(self) -> bool:
        """Whether it is read as a text, and is none."""
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

# Any other type of Postgres is read as the text that Postgres writes.
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
    # Twice as far as a number of 64 bits goes.
    "bigint unsigned": TypeMapping(data_type="decimal", precision_and_scale=(20, 0), key_kind="number"),
    "year": TypeMapping(data_type="bigint", select_expression="CAST({} AS SIGNED)"),
    **dict.fromkeys(("float", "double"), _DOUBLE),
    "decimal": _DECIMAL,
    **dict.fromkeys(("varchar", "tinytext", "text", "mediumtext", "longtext"), _TEXT),
    # Spark fills what has a fixed length with spaces that are not in the table.
    **dict.fromkeys(
        ("char", "enum", "set"),
        TypeMapping(data_type="text", select_expression="CAST({} AS CHAR)", key_kind="text"),
    ),
    **dict.fromkeys(
        ("uuid", "inet4", "inet6"), TypeMapping(data_type="text", select_expression="CAST({} AS CHAR)")
    ),
    "bit": TypeMapping(data_type="bool"),
    # Spark takes them apart into letters.
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
# What Spark says of a column that the database was not asked about.
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
    """The row of a column's type; None where nothing is known of it, and Spark has to see.

    Decimals with more digits than Spark has go as texts: what does not fit is kept beside, and not rounded.
    """
    found = _MAPPINGS.get(dialect.catalog, {}).get(column.database_type)
    if found is None:
        return _POSTGRES_OTHER if dialect.catalog == "postgres" else None
    if found is _DECIMAL and (column.precision is None or column.precision > _MAX_PRECISION):
        as_text = _CAST_TO_TEXT if dialect.catalog == "postgres" else "CAST({} AS CHAR)"
        return TypeMapping(data_type="decimal", select_expression=as_text, key_kind="number")
    return found


def spark_key_kind(spark_type: str) -> KeyKind | None:
    """What ranges of a column would be cut of, by the type that Spark sees.

    >>> spark_key_kind("decimal(10,2)"), spark_key_kind("timestamp_ntz"), spark_key_kind("array<int>")
    ('number', 'moment', None)
    """
    return _KEY_KINDS_OF_SPARK.get(spark_type.partition("(")[0])


def postgres_type(spark_type: str) -> str | None:
    """The type of Postgres that Spark sees as this one, where there is no other.

    >>> postgres_type("timestamp"), postgres_type("varchar(20)")
    ('timestamp with time zone', None)
    """
    return _POSTGRES_TYPES_OF_SPARK.get(spark_type.partition("(")[0])


def has_own_order(database_type: str) -> bool:
    """Whether a type of Postgres has an order that its texts do not have: addresses, enums.

    >>> has_own_order("inet"), has_own_order("uuid"), has_own_order("bigint")
    (True, False, False)
    """
    return database_type not in _POSTGRES and database_type != "bpchar"


def postgres_comparison(
    columns: Iterable[ReflectedColumn], spark_types: Mapping[str, str]
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """The types of columns as Postgres writes them, and the columns that are texts for Spark alone.

    `seen` are the types that Spark sees, where the database was not asked.
    """
    kinds = {one.name: _BPCHAR.get(one.database_type, one.database_type) for one in columns}
    texts = {name for name, kind in kinds.items() if has_own_order(kind)}
    for name, spark_type in spark_types.items():
        if kind := postgres_type(spark_type):
            kinds[name] = kind
        elif spark_key_kind(spark_type) == "text":
            texts.add(name)
    return tuple(one for one in kinds.items() if one[0] not in texts), frozenset(texts)


def mysql_comparison(
    columns: Iterable[ReflectedColumn], spark_types: Mapping[str, str], dialect: Dialect
) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that are texts, and those with days or moments.

    >>> from penstock.sources.sql_database.dialects import DIALECTS
    >>> mysql_comparison((), {"name": "varchar(9)", "at": "timestamp_ntz", "n": "int"}, DIALECTS["mysql"])
    (frozenset({'name'}), frozenset({'at'}))
    """
    kinds = {one.name: kind.data_type for one in columns if (kind := type_mapping(one, dialect))}
    types = {**kinds, **{name: spark_key_kind(one) for name, one in spark_types.items()}}
    texts = frozenset(name for name, one in types.items() if one == "text")
    return texts, frozenset(name for name, one in types.items() if one in _DATE_TYPES)


def column_hint(
    column: ReflectedColumn, mapping: TypeMapping | None, *, level: ReflectionLevel, is_key: bool = False
) -> dict[str, Any]:
    """What is said of a column: types, digits where they are wanted, and whether it may be null."""
    said: dict[str, Any] = {"name": column.name, "nullable": column.nullable and not is_key}
    # Without its type, an exact text would be nothing but a text.
    if mapping is not None and (level != "minimal" or mapping.data_type in {"json", "time"}):
        said["data_type"] = mapping.data_type
        if mapping.timezone is False and level == "full_with_precision":
            said["timezone"] = False
    if mapping is not None and mapping.data_type == "decimal":
        precision, scale = mapping.precision_and_scale or (column.precision, column.scale or 0)
        if not mapping.is_text_encoded:
            said |= {"precision": precision, "scale": scale}
    elif (
        level == "full_with_precision" and column.precision and said.get("data_type") in _TYPES_WITH_PRECISION
    ):
        said["precision"] = column.precision
    return said
