"""What becomes of a column: how it is selected, what is said of it, and whether ranges can be cut of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.sources.sql_database.dialects import Dialect
    from penstock.sources.sql_database.facts import ColumnFacts

KeyKind = Literal["number", "date", "moment", "text"]
ReflectionLevel = Literal["minimal", "full", "full_with_precision"]
_MOST_DIGITS: Final = 38
_WITH_PRECISION: Final = frozenset(("text", "binary", "timestamp", "time"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """One row of the table of types."""

    data_type: str
    select: str | None = None
    """How it is selected, where Spark cannot read it as it is."""
    key: KeyKind | None = None
    timezone: bool | None = None
    digits: tuple[int, int] | None = None
    """Precision and scale, where the database does not say them."""

    @property
    def is_told_by_text(self) -> bool:
        """Whether it is read as a text, and is none."""
        return self.select is not None and self.digits is None and self.data_type in _TOLD


_TOLD: Final = frozenset(("json", "time", "decimal"))
_NUMBER: Final = ColumnKind(data_type="bigint", key="number")
_TEXT: Final = ColumnKind(data_type="text", key="text")
_DATE: Final = ColumnKind(data_type="date", key="date")
_DOUBLE: Final = ColumnKind(data_type="double")
_BINARY: Final = ColumnKind(data_type="binary")
_DECIMAL: Final = ColumnKind(data_type="decimal", key="number")
_MOMENT: Final = ColumnKind(data_type="timestamp", key="moment", timezone=True)
_LOCAL: Final = ColumnKind(data_type="timestamp", key="moment", timezone=False)
_CAST: Final = "CAST({} AS TEXT)"

# Any other type of Postgres is read as the text that Postgres writes.
_POSTGRES: Final[Mapping[str, ColumnKind]] = {
    **dict.fromkeys(("smallint", "integer", "bigint"), _NUMBER),
    "oid": ColumnKind(data_type="bigint", select="CAST({} AS BIGINT)", key="number"),
    "boolean": ColumnKind(data_type="bool"),
    **dict.fromkeys(("real", "double precision"), _DOUBLE),
    "numeric": _DECIMAL,
    "money": ColumnKind(
        data_type="decimal", select="CAST(CAST({} AS NUMERIC) AS NUMERIC(20, 2))", digits=(20, 2)
    ),
    **dict.fromkeys(("text", "character varying", "character"), _TEXT),
    "uuid": ColumnKind(data_type="text", select=_CAST, key="text"),
    "bytea": _BINARY,
    "date": _DATE,
    "timestamp with time zone": _MOMENT,
    "timestamp without time zone": _LOCAL,
    "time without time zone": ColumnKind(data_type="time", select=_CAST),
    **dict.fromkeys(("json", "jsonb"), ColumnKind(data_type="json", select=_CAST)),
    "array": ColumnKind(data_type="json", select="CAST(TO_JSON({}) AS TEXT)"),
}
_POSTGRES_OTHER: Final = ColumnKind(data_type="text", select=_CAST)
_MYSQL: Final[Mapping[str, ColumnKind]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), _NUMBER),
    # Twice as far as a number of 64 bits goes.
    "bigint unsigned": ColumnKind(data_type="decimal", digits=(20, 0), key="number"),
    "year": ColumnKind(data_type="bigint", select="CAST({} AS SIGNED)"),
    **dict.fromkeys(("float", "double"), _DOUBLE),
    "decimal": _DECIMAL,
    **dict.fromkeys(("varchar", "tinytext", "text", "mediumtext", "longtext"), _TEXT),
    # Spark fills what has a fixed length with spaces that are not in the table.
    **dict.fromkeys(
        ("char", "enum", "set"), ColumnKind(data_type="text", select="CAST({} AS CHAR)", key="text")
    ),
    **dict.fromkeys(("uuid", "inet4", "inet6"), ColumnKind(data_type="text", select="CAST({} AS CHAR)")),
    "bit": ColumnKind(data_type="bool"),
    # Spark takes them apart into letters.
    "bits": ColumnKind(data_type="bigint", select="CAST({} AS SIGNED)"),
    "64 bits": ColumnKind(data_type="decimal", select="CAST({} AS UNSIGNED)", digits=(20, 0)),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _BINARY),
    "date": _DATE,
    "datetime": _LOCAL,
    "timestamp": ColumnKind(data_type="timestamp", timezone=True),
    "time": ColumnKind(data_type="time", select="CAST({} AS CHAR)"),
    "json": ColumnKind(data_type="json", select="CAST({} AS CHAR)"),
}
_SQL_SERVER: Final[Mapping[str, ColumnKind]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _NUMBER),
    "bit": ColumnKind(data_type="bool"),
    **dict.fromkeys(("real", "float"), _DOUBLE),
    **dict.fromkeys(("decimal", "numeric", "money", "smallmoney"), _DECIMAL),
    **dict.fromkeys(("char", "varchar", "nchar", "nvarchar", "text", "ntext"), _TEXT),
    "uniqueidentifier": ColumnKind(data_type="text", select="CAST({} AS VARCHAR(36))"),
    **dict.fromkeys(("binary", "varbinary", "image"), _BINARY),
    "date": _DATE,
    **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), _LOCAL),
    "time": ColumnKind(data_type="time", select="CAST({} AS VARCHAR(16))"),
}
# What Spark says of a column that the database was not asked about.
_SEEN: Final[Mapping[str, KeyKind]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "decimal"), "number"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "moment"),
    **dict.fromkeys(("string", "char", "varchar"), "text"),
}
_SEEN_OF_POSTGRES: Final[Mapping[str, str]] = {
    "char": "bpchar",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}
_BPCHAR: Final = {"character": "bpchar"}
_DAYS: Final = frozenset(("date", "timestamp", "moment"))
_TABLES: Final = {"postgres": _POSTGRES, "mysql": _MYSQL, "information_schema": _SQL_SERVER}


def kind_of(column: ColumnFacts, dialect: Dialect) -> ColumnKind | None:
    """The row of a column's type; None where nothing is known of it, and Spark has to see.

    Decimals with more digits than Spark has go as texts: what does not fit is kept beside, and not rounded.
    """
    found = _TABLES.get(dialect.catalog, {}).get(column.kind)
    if found is None:
        return _POSTGRES_OTHER if dialect.catalog == "postgres" else None
    if found is _DECIMAL and (column.precision is None or column.precision > _MOST_DIGITS):
        as_text = _CAST if dialect.catalog == "postgres" else "CAST({} AS CHAR)"
        return ColumnKind(data_type="decimal", select=as_text, key="number")
    return found


def seen_key(spark_type: str) -> KeyKind | None:
    """What ranges of a column would be cut of, by the type that Spark sees.

    >>> seen_key("decimal(10,2)"), seen_key("timestamp_ntz"), seen_key("array<int>")
    ('number', 'moment', None)
    """
    return _SEEN.get(spark_type.partition("(")[0])


def seen_kind(spark_type: str) -> str | None:
    """The type of Postgres that Spark sees as this one, where there is no other.

    >>> seen_kind("timestamp"), seen_kind("varchar(20)")
    ('timestamp with time zone', None)
    """
    return _SEEN_OF_POSTGRES.get(spark_type.partition("(")[0])


def is_other_text(kind: str) -> bool:
    """Whether a type of Postgres has an order that its texts do not have: addresses, enums.

    >>> is_other_text("inet"), is_other_text("uuid"), is_other_text("bigint")
    (True, False, False)
    """
    return kind not in _POSTGRES and kind != "bpchar"


def compared_by_postgres(
    columns: Iterable[ColumnFacts], seen: Mapping[str, str]
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """The types of columns as Postgres writes them, and the columns that are texts for Spark alone.

    `seen` are the types that Spark sees, where the database was not asked.
    """
    kinds = {one.name: _BPCHAR.get(one.kind, one.kind) for one in columns}
    texts = {name for name, kind in kinds.items() if is_other_text(kind)}
    for name, spark_type in seen.items():
        if kind := seen_kind(spark_type):
            kinds[name] = kind
        elif seen_key(spark_type) == "text":
            texts.add(name)
    return tuple(one for one in kinds.items() if one[0] not in texts), frozenset(texts)


def compared_by_mysql(
    columns: Iterable[ColumnFacts], seen: Mapping[str, str], dialect: Dialect
) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that are texts, and those with days or moments.

    >>> from penstock.sources.sql_database.dialects import DIALECTS
    >>> compared_by_mysql((), {"name": "varchar(9)", "at": "timestamp_ntz", "n": "int"}, DIALECTS["mysql"])
    (frozenset({'name'}), frozenset({'at'}))
    """
    kinds = {one.name: kind.data_type for one in columns if (kind := kind_of(one, dialect))}
    types = {**kinds, **{name: seen_key(one) for name, one in seen.items()}}
    texts = frozenset(name for name, one in types.items() if one == "text")
    return texts, frozenset(name for name, one in types.items() if one in _DAYS)


def hint_of(
    column: ColumnFacts, kind: ColumnKind | None, *, level: ReflectionLevel, is_key: bool = False
) -> dict[str, Any]:
    """What is said of a column: types, digits where they are wanted, and whether it may be null."""
    said: dict[str, Any] = {"name": column.name, "nullable": column.nullable and not is_key}
    # Without its type, an exact text would be nothing but a text.
    if kind is not None and (level != "minimal" or kind.data_type in {"json", "time"}):
        said["data_type"] = kind.data_type
        if kind.timezone is False and level == "full_with_precision":
            said["timezone"] = False
    if kind is not None and kind.data_type == "decimal":
        precision, scale = kind.digits or (column.precision, column.scale or 0)
        if not kind.is_told_by_text:
            said |= {"precision": precision, "scale": scale}
    elif level == "full_with_precision" and column.precision and said.get("data_type") in _WITH_PRECISION:
        said["precision"] = column.precision
    return said
