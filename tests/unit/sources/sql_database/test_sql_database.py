"""URLs, SQL queries and resources of SQL sources, without a database."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one
from tests.unit.sources.sql_database.options import sql_options_of

import penstock
from penstock.errors import UsageError
from penstock.sources.sql_database import sql_database, sql_table
from penstock.sources.sql_database.column_types import column_hint, type_mapping
from penstock.sources.sql_database.connections import ConnectionBudget
from penstock.sources.sql_database.dialects import DIALECTS
from penstock.sources.sql_database.jdbc import jdbc_config
from penstock.sources.sql_database.plan import PartitionRange
from penstock.sources.sql_database.queries import (
    CursorWindow,
    RowQuery,
    int_to_key,
    key_statistics_query,
    key_to_int,
)
from penstock.sources.sql_database.reflection import (
    ReflectedColumn,
    ReflectedTable,
    columns_query,
    keys_query,
    reflected_tables,
)
from penstock.sources.sql_database.run import partition_ranges
from penstock.sources.sql_database.snapshot_wait import snapshot_query
from penstock.sources.sql_database.table_reader import TableReader

URL = "postgresql://ada:p%40ss%27word@db:5433/shop"
UPSERT = {"disposition": "merge", "strategy": "upsert"}
POSTGRES, MYSQL = DIALECTS["postgresql"], DIALECTS["mysql"]


@pytest.mark.parametrize(
    ("argument", "url"),
    [
        (URL, "jdbc:postgresql://db:5433/shop"),
        ("postgresql+psycopg2://ada:x@[::1]/shop", "jdbc:postgresql://[::1]:5432/shop"),
        ("mysql+pymysql://ada:x@db/shop", "jdbc:mysql://db:3306/shop"),
        ("mariadb://ada:x@db/shop", "jdbc:mysql://db:3306/shop?permitMysqlScheme"),
        ("mssql+pyodbc://ada:x@db/shop", "jdbc:sqlserver://db:1433;databaseName=shop"),
        (
            "jdbc:postgresql://db/shop?sslmode=require&user=a&password=hushhush",
            "jdbc:postgresql://db/shop?sslmode=require",
        ),
        (
            "jdbc:sqlserver://db:1433;databaseName=s;user=a;password=hushhush",
            "jdbc:sqlserver://db:1433;databaseName=s",
        ),
        (
            "jdbc:sqlserver://db.example.net:1433;database=s;user=ada@db;password=hush@hushhush;encrypt=true",
            "jdbc:sqlserver://db.example.net:1433;database=s;encrypt=true",
        ),
        ("jdbc:postgresql://db/shop?user=ada@db&password=hush@hushhush", "jdbc:postgresql://db/shop"),
        ("jdbc:teradata://db/shop", "jdbc:teradata://db/shop"),
        ("jdbc:mariadb://db/shop?user=a", "jdbc:mysql://db/shop?permitMysqlScheme"),
        ("jdbc:oracle:thin:scott/hushhush@db:1521:shop", "jdbc:oracle:thin:@db:1521:shop"),
        ('jdbc:oracle:thin:scott/"hush@hushhush"@//db/shop', "jdbc:oracle:thin:@//db/shop"),
        ("jdbc:db2://db:50000/S:password=hushhush;user=a;ssl=true;", "jdbc:db2://db:50000/S:ssl=true;"),
        ("jdbc:db2://db:50000/S:user=a;password=hushhush;", "jdbc:db2://db:50000/S"),
        ("jdbc:mysql://ada:hu;sh-secret=hushhush@db:3306/shop", "jdbc:mysql://db:3306/shop"),
        ("jdbc:mariadb://ada:hushhush;@db/shop", "jdbc:mysql://db/shop?permitMysqlScheme"),
        ("jdbc:mysql://ada:hushhush@db/shop?a=b%26c", "jdbc:mysql://db/shop?a=b%26c"),
        ("jdbc:postgresql://db/shop?password=hush;hushhush&a", "jdbc:postgresql://db/shop?a"),
        ("jdbc:postgresql://db/shop?sslpassword=hushhush", "jdbc:postgresql://db/shop"),
        (
            "jdbc:sqlserver://db;password={hush;hushhush}};};databaseName={a;b}",
            "jdbc:sqlserver://db;databaseName={a;b}",
        ),
    ],
)
def test_jdbc_urls_contain_no_credentials(argument: str, url: str) -> None:
    place = jdbc_config(argument)

    assert place.url == url
    assert {"user", "password"} <= place.properties.keys() or "@" not in argument
    assert "hushhush" not in repr(place)
    assert "hushhush" not in f"{place.default_schema} {place.database}"


def test_the_odbc_driver_of_a_url_is_ignored() -> None:
    place = jdbc_config("mssql+pyodbc://ada:x@db/shop?driver=ODBC+Driver+18+for+SQL+Server&encrypt=true")

    assert place.properties["driver"] == "com.microsoft.sqlserver.jdbc.SQLServerDriver"
    assert place.properties["encrypt"] == "true"


def test_a_password_is_passed_unquoted() -> None:
    assert jdbc_config(URL).properties["password"] == "p@ss'word"
    assert jdbc_config("jdbc:postgresql://db/s?user=a&password=b%26c").properties["password"] == "b&c"
    assert jdbc_config("jdbc:sqlserver://db;password={a;b}}c};user=a").properties["password"] == "a;b}c"
    assert jdbc_config("jdbc:oracle:thin:scott/tiger@db:1521:s").properties["password"] == "tiger"
    assert jdbc_config("jdbc:mysql://ada:hu;s=h@db/s").properties["password"] == "hu;s=h"


@pytest.mark.parametrize(
    ("argument", "schema"),
    [
        ("postgresql://a@db/shop", "public"),
        ("mysql://a@db/shop", "shop"),
        ("jdbc:mysql://db/shop?x=y", "shop"),
        ("oracle://a@db/shop", None),
        ("jdbc:db2://db/SAMPLE", None),
    ],
)
def test_the_default_schema_is_the_database_for_mysql_only(argument: str, schema: str | None) -> None:
    assert jdbc_config(argument).default_schema == schema


def test_postgres_sessions_set_utc_before_statements_of_the_user() -> None:
    argument = jdbc_config(URL, properties={"sessionInitStatement": "SET search_path TO shop"})

    assert argument.properties["sessionInitStatement"] == "SET TIME ZONE 'UTC'; SET search_path TO shop"
    assert jdbc_config("mysql://a@db/shop").properties["connectionTimeZone"] == "UTC"


def test_tables_of_a_database_without_reflection_must_be_named() -> None:
    with pytest.raises(UsageError, match="cannot list the tables") as refused:
        sql_database("oracle://ada:x@db/shop")
    assert "table_names" in refused.value.hint


@pytest.mark.parametrize("end", ["", ";", " ;\n; ", " -- all", "; -- all; of them", " /* all */ ;"])
def test_a_query_may_end_in_semicolons_and_comments(end: str) -> None:
    rows = RowQuery(dialect=POSTGRES, query="SELECT ';' AS a" + end)

    parsed = parse_one(rows.select(), dialect="postgres")

    (query,) = parsed.find_all(exp.Subquery)
    assert (query.alias, query.this.sql(comments=False)) == ("t", "SELECT ';' AS a")


def test_a_timestamp_for_an_unknown_column_has_its_offset() -> None:
    rows = RowQuery(dialect=POSTGRES, query="SELECT 1")

    assert rows.value_literal(datetime(2024, 1, 1, tzinfo=UTC), "at") == "'2024-01-01 00:00:00.000000+00'"
    assert rows.value_literal(date(2024, 1, 1), "day") == "'2024-01-01'"


@pytest.mark.parametrize(
    ("kind", "texts", "wanted"),
    [
        ("text", (), '"t"."c" COLLATE "C"'),
        ("bpchar", (), '"t"."c" COLLATE "C"'),
        ("inet", ("c",), 'CAST("t"."c" AS TEXT) COLLATE "C"'),
        ("uuid", (), '"t"."c"'),
    ],
)
def test_a_cursor_compares_texts_by_their_bytes(kind: str, texts: tuple[str, ...], wanted: str) -> None:
    rows = RowQuery(
        dialect=POSTGRES,
        table="o",
        postgres_types=() if texts else (("c", kind),),
        text_columns=frozenset(texts),
    )
    window = CursorWindow(column="c", start="x", visible_until="y", includes_nulls=False)

    (condition,) = replace(rows, window=window).window_conditions()

    assert condition.startswith(f"{wanted} >= ")
    assert f"AND {wanted} <= " in condition
    assert f"ORDER BY {wanted} DESC" in snapshot_query(rows, "c")


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, Decimal("Infinity")])
def test_infinite_numbers_are_bounds_for_postgres_only(number: Any) -> None:
    rows = RowQuery(dialect=POSTGRES, table="o", postgres_types=(("c", "double precision"),))

    assert rows.value_literal(number, "c") == f"CAST('{float(number)}' AS double precision)"
    with pytest.raises(UsageError, match=str(number)):
        RowQuery(dialect=MYSQL, table="o").value_literal(number, "c")


def test_key_statistics_of_sql_server_use_iso_8601() -> None:
    rows = RowQuery(dialect=DIALECTS["mssql"], table="o")

    assert "CONVERT(VARCHAR(33), MIN([t].[at]), 126) AS least" in key_statistics_query(rows, "at", "moment")
    assert "CAST(MIN([t].[id]) AS VARCHAR(64)) AS least" in key_statistics_query(rows, "id", "number")


class Answers:
    """A database that answers what it was given, and writes down what it was asked."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.answers, self.questions = list(answers), list[str]()

    def rows(self, query: str) -> list[dict[str, Any]]:
        self.questions.append(query)
        return self.answers.pop(0)


def asked(*answers: list[dict[str, Any]]) -> Any:
    return Answers(*answers)


@pytest.mark.parametrize(("size", "partitions", "cuts"), [(2**30, 8, 6), (20 * 2**20, 3, 1)])
def test_null_keys_take_one_of_the_connections(size: int, partitions: int, cuts: int) -> None:
    database = asked([{"cut": str(number)} for number in range(cuts)])
    facts, rows = ReflectedTable(name="o", size=size, heap=size), RowQuery(dialect=POSTGRES, table="o")

    result = partition_ranges(database, rows, ("id", "number", True), partitions=partitions, table=facts)

    assert len(result) == partitions
    assert len(re.findall(r"0\.\d{6}", database.questions[0].partition("WITHIN")[0])) == cuts


@pytest.mark.parametrize(
    ("kind", "least"), [("moment", "-infinity"), ("number", "NaN"), ("date", "0044-03-15 BC")]
)
def test_a_key_with_unreadable_bounds_is_read_as_one_range(kind: Any, least: str) -> None:
    database = asked([{"least": least, "most": least, "row_count": 10**6}])
    rows = RowQuery(dialect=POSTGRES, query="SELECT 1")

    key = ("at", kind, False)
    assert partition_ranges(database, rows, key, partitions=4, table=ReflectedTable(name="o")) == (
        PartitionRange(),
    )


@pytest.mark.parametrize(
    ("facts", "named", "wanted"),
    [
        ({"primary_key": ("id",)}, None, ("id", "number", False)),
        ({}, None, None),
        ({"unique": ("maybe",)}, None, None),
        ({"unique": ("maybe", "code")}, None, ("code", "text", False)),
        ({"unique": ("code",)}, "at", ("at", "moment", True)),
    ],
)
def test_ranges_use_keys_or_the_named_column(facts: Any, named: str | None, wanted: Any) -> None:
    columns = (
        ReflectedColumn(name="id", database_type="bigint", nullable=False),
        ReflectedColumn(name="code", database_type="text", nullable=False),
        ReflectedColumn(name="maybe", database_type="text"),
        ReflectedColumn(name="at", database_type="timestamp with time zone"),
    )
    reading = TableReader(options=sql_options_of(URL), name="o", partition_column=named)

    assert reading.partition_key(ReflectedTable(name="o", columns=columns, **facts), {}) == wanted


def test_a_key_with_one_value_is_read_as_one_range() -> None:
    database = asked([{"least": "5", "most": "5", "row_count": 10**6}])
    rows = RowQuery(dialect=POSTGRES, query="SELECT 1")

    key: Any = ("id", "number", False)
    assert partition_ranges(database, rows, key, partitions=4, table=ReflectedTable(name="o")) == (
        PartitionRange(),
    )


@pytest.mark.parametrize(
    ("window", "size", "ranges"),
    [
        (None, 2**30, 4),
        (CursorWindow(column="id", includes_nulls=True), 2**30, 4),
        (None, None, 1),
        (CursorWindow(column="id", start=5), 2**30, 1),
    ],
    ids=["large rows", "a first run", "nobody knows their size", "a window of a large table"],
)
def test_few_rows_use_several_connections_only_if_they_are_large(
    window: CursorWindow | None, size: int | None, ranges: int
) -> None:
    cells = [{"cell": number, "row_count": 1} for number in range(64)]
    database = asked([{"least": "0", "most": "63", "row_count": 64}], *[cells] * 5)
    rows, facts = RowQuery(dialect=MYSQL, table="o", window=window), ReflectedTable(name="o", size=size)

    result = partition_ranges(database, rows, ("id", "number", False), partitions=4, table=facts)

    assert len(result) == ranges


def test_ranges_of_a_query_use_the_types_of_spark() -> None:
    reading = TableReader(options=None, name="o", query="SELECT 1", partition_column="at")  # type: ignore[arg-type]

    assert reading.partition_key(ReflectedTable(name="o"), {"at": "timestamp"}) == ("at", "moment", True)


@pytest.mark.parametrize("argument", ["teradata://ada:x@db/shop", "postgresql://ada:x@db"])
def test_invalid_credentials_are_rejected_without_the_password(argument: str) -> None:
    with pytest.raises(UsageError) as refused:
        jdbc_config(argument.replace(":x@", ":hushhush@"))
    assert "hushhush" not in str(refused.value)


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_names_and_values_are_quoted(table: str, column: str, value: str) -> None:
    rows = RowQuery(dialect=POSTGRES, table=table, columns=((column, None),))
    text = rows.select(rows.range_condition(column, PartitionRange(lower=value), "text"))

    parsed = parse_one(text, dialect="postgres")

    assert [item.name for item in parsed.find_all(exp.Table)] == [table]
    literals = [item.this for item in parsed.find_all(exp.Literal) if item.is_string]
    assert literals == [value]


def test_a_window_is_part_of_every_range_query() -> None:
    window = CursorWindow(
        column="at", start=datetime(2024, 1, 1, tzinfo=UTC), visible_until="2024-02-01 00:00:00+00"
    )
    rows = RowQuery(
        dialect=POSTGRES,
        schema="public",
        table="orders",
        postgres_types=(("id", "bigint"), ("at", "timestamp with time zone")),
        window=window,
    )

    assert rows.select(rows.range_condition("id", PartitionRange(lower="5", upper="9"), "number")) == (
        'SELECT "t".* FROM "public"."orders" "t" WHERE ("t"."id" >= CAST(\'5\' AS bigint) AND "t"."id" < '
        "CAST('9' AS bigint)) AND ((\"t\".\"at\" >= CAST('2024-01-01 00:00:00.000000+00' AS timestamp with "
        'time zone) AND "t"."at" <= CAST(\'2024-02-01 00:00:00+00\' AS timestamp with time zone)) OR '
        '"t"."at" IS NULL)'
    )


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        (CursorWindow(column="n", start=5, includes_nulls=False), ("`t`.`n` >= 5",)),
        (CursorWindow(column="n", start=5, is_start_open=True, includes_nulls=False), ("`t`.`n` > 5",)),
        (
            CursorWindow(column="n", start=5, end=9, is_end_open=False, includes_nulls=False),
            ("`t`.`n` >= 5 AND `t`.`n` <= 9",),
        ),
        (CursorWindow(column="n", start=5, is_max=False, includes_nulls=False), ("`t`.`n` <= 5",)),
        (CursorWindow(column="n", includes_nulls=False), ("`t`.`n` IS NOT NULL",)),
        (CursorWindow(column="n"), ()),
        (CursorWindow(column="n", is_empty=True, includes_nulls=False), ("1 = 0",)),
        (
            CursorWindow(column="d", start=date(2024, 1, 1)),
            ("(`t`.`d` >= DATE '2024-01-01') OR `t`.`d` IS NULL",),
        ),
    ],
)
def test_bounds_of_a_cursor_as_conditions(argument: CursorWindow, wanted: tuple[str, ...]) -> None:
    assert RowQuery(dialect=MYSQL, table="t", window=argument).window_conditions() == wanted


def test_texts_of_mysql_are_compared_by_their_bytes() -> None:
    window = CursorWindow(column="c", start="it's", includes_nulls=False)

    result = RowQuery(
        dialect=MYSQL, table="t", text_columns=frozenset({"c"}), window=window
    ).window_conditions()

    assert result == ("CAST(CONVERT(`t`.`c` USING utf8mb4) AS BINARY) >= X'69742773'",)


def test_zero_dates_of_mysql_are_null() -> None:
    window = CursorWindow(column="d", start=date(2024, 1, 1))

    result = RowQuery(
        dialect=MYSQL, table="t", date_columns=frozenset({"d"}), window=window
    ).window_conditions()

    assert result == ("(`t`.`d` >= DATE '2024-01-01') OR `t`.`d` IS NULL OR `t`.`d` = 0",)


def test_properties_in_a_url_are_not_overridden_by_defaults() -> None:
    place = jdbc_config("jdbc:mysql://db/shop?zerodatetimebehavior=EXCEPTION&useCursorFetch=false")

    assert not {"zeroDateTimeBehavior", "useCursorFetch"} & place.properties.keys()
    assert place.properties["tinyInt1isBit"] == "false"


def test_sessions_use_utc_for_any_url() -> None:
    place = jdbc_config("jdbc:mysql://db/shop?connectionTimeZone=America/New_York")

    assert place.properties["connectionTimeZone"] == "UTC"


def test_property_names_of_postgres_urls_are_case_sensitive() -> None:
    argument = [
        jdbc_config(f"jdbc:postgresql://db/s?{name}=x") for name in ("ApplicationName", "applicationname")
    ]

    assert ["ApplicationName" in place.properties for place in argument] == [False, True]


def test_a_cursor_on_a_padded_column_is_rejected() -> None:
    reading = TableReader(options=sql_options_of("mysql://a@db/shop"), name="o", query="SELECT 1 AS state")
    cursor: Any = penstock.sources.incremental("state")

    with pytest.raises(UsageError, match="pads with spaces") as refused:
        reading.window(cursor, ReflectedTable(name="o"), {"state": "char(3)"}, RowQuery(dialect=MYSQL))
    assert "CAST(state AS CHAR)" in refused.value.hint


@given(st.dates(min_value=date(1, 1, 1)), st.datetimes(), st.integers())
def test_keys_convert_to_integers_and_back(day: date, moment: datetime, number: int) -> None:
    assert int_to_key(key_to_int(day.isoformat(), "date"), "date") == day.isoformat()
    text = moment.isoformat(sep=" ", timespec="microseconds")
    assert int_to_key(key_to_int(text, "moment"), "moment") == text
    assert int_to_key(key_to_int(str(number), "number"), "number") == str(number)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_fractions_are_rounded_outwards(number: Any) -> None:
    assert key_to_int(str(number), "number") <= number <= key_to_int(str(number), "number", round_up=True)


@pytest.mark.parametrize("dialect", [DIALECTS[name] for name in ("postgresql", "mysql", "mariadb", "mssql")])
def test_catalog_queries_are_valid_in_the_dialect(dialect: Any) -> None:
    for text in (columns_query(dialect, "it's", ("a", "b'c")), keys_query(dialect, "it's", None)):
        result = parse_one(text, dialect=dialect.sqlglot_dialect)
        # Spark puts brackets around it, and SQL Server takes no order in there.
        assert result.args.get("order") is None


def test_catalog_rows_become_tables() -> None:
    column = {"table_name": "orders", "table_kind": "table", "digits": None, "scale": None, "size": 10}
    columns = [
        {**column, "column_name": "by", "at": 2, "data_type": "INTEGER", "nullable": "YES"},
        {**column, "column_name": "id", "at": 1, "data_type": "bigint", "nullable": False},
    ]
    key = {"table_name": "orders", "other_table": None, "other_column": None, "at": 1}
    keys = [
        {**key, "key_name": "pk", "column_name": "day", "kind": "primary", "at": 2},
        {**key, "key_name": "pk", "column_name": "id", "kind": "primary"},
        {**key, "key_name": "fk", "column_name": "by", "kind": "foreign"}
        | {"other_table": "people", "other_column": "id"},
        {**key, "key_name": "ix", "column_name": "by", "kind": "unique"},
    ]

    (table,) = reflected_tables(columns, keys).values()

    assert [(item.name, item.database_type, item.nullable) for item in table.columns] == [
        ("id", "bigint", False),
        ("by", "integer", True),
    ]
    assert (table.primary_key, table.unique, table.size) == (("id", "day"), ("by",), 10)
    assert (table.references[0].referenced_table, table.references[0].referenced_columns) == (
        "people",
        ("id",),
    )


@pytest.mark.parametrize(
    ("column", "level", "wanted"),
    [
        (
            ReflectedColumn(name="c", database_type="numeric", precision=10, scale=2),
            "full",
            {"precision": 10, "scale": 2},
        ),
        (ReflectedColumn(name="c", database_type="character varying", precision=20), "full", {}),
        (
            ReflectedColumn(name="c", database_type="character varying", precision=20),
            "full_with_precision",
            {"precision": 20},
        ),
        (ReflectedColumn(name="c", database_type="numeric"), "full", {}),
    ],
)
def test_column_hints_follow_the_reflection_level(
    column: ReflectedColumn, level: Any, wanted: dict[str, Any]
) -> None:
    argument = column_hint(column, type_mapping(column, POSTGRES), level=level)

    assert {name: value for name, value in argument.items() if name in {"precision", "scale"}} == wanted


def test_unsigned_numbers_of_mysql_have_the_precision_of_spark() -> None:
    column = ReflectedColumn(name="id", database_type="bigint unsigned", nullable=False)
    kind = type_mapping(column, MYSQL)

    argument = column_hint(column, kind, level="full")

    assert kind is not None
    assert kind.key_kind == "number"
    assert (argument["data_type"], argument["precision"], argument["scale"]) == ("decimal", 20, 0)
    assert "'bigint unsigned'" in columns_query(MYSQL, "shop", None)


def test_unknown_types_of_postgres_are_read_as_text() -> None:
    kind = type_mapping(ReflectedColumn(name="c", database_type="tsvector"), POSTGRES)

    assert kind is not None
    assert (kind.data_type, kind.select_expression) == ("text", "CAST({} AS TEXT)")
    assert type_mapping(ReflectedColumn(name="c", database_type="geometry"), MYSQL) is None


def test_a_request_for_many_connections_is_not_overtaken() -> None:
    budget = ConnectionBudget(4)
    with budget.reserve(3) as first, budget.reserve(9) as many, budget.reserve(1) as last:
        assert budget.try_acquire(first)
        assert not budget.try_acquire(many)
        assert not budget.try_acquire(last)
    with budget.reserve(4) as all_of_them:
        assert list(all_of_them.wait()) == []


def test_an_aborted_reservation_leaves_the_queue() -> None:
    budget = ConnectionBudget(1)
    with budget.reserve(1) as first:
        assert budget.try_acquire(first)
        with budget.reserve(1):
            pass
    with budget.reserve(1) as next_one:
        assert budget.try_acquire(next_one)


def test_threads_never_exceed_the_connection_limit() -> None:
    budget, most, lock, now = ConnectionBudget(3), [0], threading.Lock(), [0]

    def work(wanted: int) -> None:
        with budget.reserve(wanted) as item:
            list(item.wait())
            with lock:
                now[0] += item.connections
                most[0] = max(most[0], now[0])
            with lock:
                now[0] -= item.connections

    threads = [threading.Thread(target=work, args=(number % 4 + 1,)) for number in range(20)]
    for item in threads:
        item.start()
    for item in threads:
        item.join()
    assert 1 <= most[0] <= 3


def test_tables_are_resources_with_the_preset_of_their_driver() -> None:
    shop = sql_database(URL, table_names=["orders", "people"])

    assert list(shop.resources) == ["orders", "people"]
    assert [item.declaration.needs for item in shop.resources.values()] == [("postgres",), ("postgres",)]
    assert shop.name == "sql_database"


def test_credentials_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCES__SQL_DATABASE__CREDENTIALS", URL)
    monkeypatch.setenv("SOURCES__SQL_DATABASE__TABLE_NAMES", '["orders"]')

    assert list(sql_database().resources) == ["orders"]
    assert sql_table(table="people").name == "people"


def test_hints_of_sql_table_are_applied() -> None:
    orders = sql_table(
        URL,
        "orders",
        incremental=penstock.sources.incremental("updated_at"),
        write_disposition="merge",
        primary_key="id",
    )

    assert orders.write_disposition == "merge"
    assert orders.incremental.cursor_path == "updated_at"


@pytest.mark.parametrize(
    ("argument", "instead"),
    [
        ({"engine_adapter_callback": print}, "backend_kwargs"),
        ({"query_adapter_callback": print}, "query="),
        ({"metadata": object()}, "omit it"),
        ({"backend": "duckdb"}, "omit it"),
        ({"defer_table_reflect": False}, "omit defer_table_reflect"),
        ({"reflection_level": "deep"}, "minimal"),
        ({"connections": 0}, "1 or more"),
    ],
)
def test_arguments_for_sqlalchemy_are_rejected_with_a_replacement(
    argument: dict[str, Any], instead: str
) -> None:
    with pytest.raises(UsageError) as refused:
        sql_table(URL, "orders", **argument)
    assert instead in refused.value.hint


def test_delete_missing_merges_unless_another_disposition_is_declared() -> None:
    tables = {mode: sql_table(URL, "orders", delete_missing=mode) for mode in ("hard", "soft", "scd2")}
    declared = sql_table(URL, "orders", delete_missing="hard", write_disposition=UPSERT)
    source = sql_database(URL, table_names=["orders"], delete_missing="soft")

    dispositions = {mode: table.write_disposition for mode, table in tables.items()}
    assert dispositions == {"hard": "merge", "soft": "merge", "scd2": {**UPSERT, "strategy": "scd2"}}
    assert declared.write_disposition == UPSERT
    assert source.resources["orders"].write_disposition == "merge"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delete_missing": "hrad"}, "invalid value 'hrad' of delete_missing"),
        ({"delete_missing": "hard", "max_deleted": 5}, "a share from 0 to 1, got 5"),
    ],
)
def test_wrong_options_of_deletions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sql_table(URL, "orders", **options)
