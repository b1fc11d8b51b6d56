"""`penstock load`: the program of each kind of source, and a load that runs it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command_documents import read_documents
from tests.restapi import Api
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.cli.load_plan import LoadOptions, LoadProgram, plan_load
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "lovelace-1843"


def plan(source: str, destination: str = "./lake", **options: Any) -> LoadProgram:
    return plan_load(source, destination, LoadOptions(**options))


def lines(source: str, destination: str = "./lake", **options: Any) -> list[str]:
    return plan(source, destination, **options).script.splitlines()


@pytest.mark.parametrize(
    ("source", "declaration"),
    [
        ("./orders.jsonl", 'orders = files(".", file_glob="orders.jsonl", name="orders")'),
        (
            "/data/New orders.csv.gz",
            'new_orders = files("/data", file_glob="New orders.csv.gz", name="New_orders")',
        ),
        ("data/orders/*.csv", 'orders = files("data/orders", file_glob="*.csv", name="orders")'),
        (
            "s3://raw/orders/**/*.parquet",
            'orders = files("s3://raw/orders", file_glob="**/*.parquet", name="orders")',
        ),
        ("*.jsonl", 'rows = files(".", file_glob="*.jsonl", name="rows")'),
    ],
)
def test_files_are_read_by_folder_and_pattern(source: str, declaration: str) -> None:
    assert declaration in lines(source)


def test_a_load_of_files_is_the_documented_program() -> None:
    assert lines(
        "data/*.csv", table="orders", incremental="day", disposition="merge", primary_key=("id", "day")
    ) == [
        "import penstock",
        "from penstock.sources.filesystem import files",
        "",
        'orders = files("data", file_glob="*.csv", name="orders")',
        'orders.apply_hints(incremental=penstock.sources.incremental("day"))',
        'lake = penstock.destinations.delta(bucket_url="./lake")',
        'pipeline = penstock.pipeline("orders_to_lake", destination=lake, dataset_name="raw")',
        'info = pipeline.run(orders, write_disposition="merge", primary_key=["id", "day"])',
        "print(info)",
    ]


def test_a_password_of_a_database_is_a_setting() -> None:
    load = plan(f"postgresql://ada:{SECRET}@db/shop", table="orders", incremental="updated_at")

    assert SECRET not in f"{load!r} {load.script}"
    assert load.secrets == {"credentials": f"postgresql://ada:{SECRET}@db/shop"}
    assert 'credentials = penstock.secrets["sources.orders_to_lake.credentials"]' in load.script
    assert "SOURCES__ORDERS_TO_LAKE__CREDENTIALS" in load.script
    assert (
        'orders = sql_table(credentials, "orders", incremental=penstock.sources.incremental("updated_at"))'
        in load.script
    )


def test_a_database_without_a_password_is_part_of_the_program() -> None:
    assert 'orders = sql_table("postgresql://reader@db/shop", "orders")' in lines(
        "postgresql://reader@db/shop", table="orders"
    )
    assert plan("jdbc:oracle:thin:@db:1521/shop", table="orders").kind == "sql"


def test_secrets_of_an_api_are_settings() -> None:
    load = plan(f"https://ada:{SECRET}@api.example.com/v1/items?limit=3&api_key={SECRET}9&tag=a&tag=b")

    assert SECRET not in load.script
    assert load.secrets == {"api_key": f"{SECRET}9", "username": "ada", "password": SECRET}
    assert '"base_url": "https://api.example.com"' in load.script
    assert '"params": {"limit": "3", "api_key": api_key, "tag": ["a", "b"]}' in load.script
    assert load.pipeline_name == "items_to_lake"


@pytest.mark.parametrize(
    ("destination", "code"),
    [
        ("./lake", 'delta(bucket_url="./lake")'),
        ("delta:./lake", 'delta(bucket_url="./lake")'),
        ("s3://lake/raw", 'delta(bucket_url="s3://lake/raw")'),
        ("iceberg:/lake", 'iceberg(bucket_url="/lake")'),
        ("files:out", 'filesystem(bucket_url="out")'),
        (f"s3://key:{SECRET}@lake/raw", "delta(bucket_url=bucket_url)"),
    ],
)
def test_a_destination_is_a_location_with_a_format(destination: str, code: str) -> None:
    load = plan("orders.csv", destination)

    assert f"lake = penstock.destinations.{code}" in load.script
    assert SECRET not in load.script


@pytest.mark.parametrize(
    ("destination", "code", "pipeline_name"),
    [
        ("duckdb:///data/shop.duckdb", 'duckdb(credentials="data/shop.duckdb")', "orders_to_shop"),
        ("shop.duckdb", 'duckdb(credentials="shop.duckdb")', "orders_to_shop"),
        ("duckdb", "duckdb()", "orders_to_duckdb"),
        ("postgresql://ada@db/shop", 'postgres(credentials="postgresql://ada@db/shop")', "orders_to_shop"),
        (f"postgres://ada:{SECRET}@db/shop", "postgres(credentials=database_url)", "orders_to_shop"),
    ],
)
def test_a_destination_is_a_database(destination: str, code: str, pipeline_name: str) -> None:
    load = plan("orders.csv", destination)

    assert f"database = penstock.destinations.{code}" in load.script
    assert load.pipeline_name == pipeline_name
    assert SECRET not in load.script


@pytest.mark.parametrize(
    ("source", "destination", "options", "message"),
    [
        ("orders.csv", "lake", {"disposition": "merge"}, "--primary-key"),
        ("orders", "lake", {}, "the format of orders is unknown"),
        ("postgresql://db/shop", "lake", {}, "--table"),
        ("postgrsql://db/shop", "lake", {}, "did you mean 'postgresql'?"),
        ("orders.csv", "icberg:lake", {}, "did you mean 'iceberg'?"),
        ("orders.csv", "delta", {}, "delta:./lake"),
        ("orders.csv", "postgres", {}, "postgresql://host/database"),
        ("orders.csv", "mysql://db/shop", {}, "no destination of the command writes to mysql:// addresses"),
        ("orders.csv", "postgers://db/shop", {}, "did you mean 'postgresql'?"),
    ],
)
def test_an_error_names_the_remedy(
    source: str, destination: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        plan(source, destination, **options)

    assert message in str(caught.value)


@given(st.text(), st.text(min_size=1), st.text(min_size=1), st.lists(st.text(), min_size=1))
def test_any_name_is_quoted(folder: str, table: str, column: str, keys: list[str]) -> None:
    load = plan(
        f"x/{folder.replace(':', '')}/a.csv", table=table, incremental=column, primary_key=tuple(keys)
    )

    strings = {node.value for node in ast.walk(ast.parse(load.script)) if isinstance(node, ast.Constant)}
    assert {table, column, *keys} <= strings


def test_the_program_alone_is_printed(disk: Path) -> None:
    words = ["load", f"mysql://ada:{SECRET}@db/shop", "./lake", "--table", "orders", "--print-script"]
    done = CliRunner().invoke(app, words)
    (document,) = read_documents("load", CliRunner().invoke(app, [*words, "--json"]).stdout)

    assert done.stdout == document["script"] == plan(words[1], table="orders").script
    assert not disk.exists()


@pytest.fixture
def api(no_spark: None) -> Iterator[Api]:
    """An API; the test starts no Spark."""
    del no_spark
    server = Api()
    yield server
    server.close()


def test_a_table_is_loaded_and_the_program_is_printed(disk: Path, api: Api) -> None:
    words = ["load", f"{api.url}/relative", "lake", "--table", "items", "--incremental", "updated_at"]

    (document,) = read_documents("load", CliRunner().invoke(app, [*words, "--json"]).stdout)
    again = CliRunner().invoke(app, words)

    assert document["rows"] == {"items": 25}
    assert document["script"] in again.stdout
    assert again.stdout.startswith("Pipeline 'items_to_lake' ")
    pipeline = penstock.attach("items_to_lake", pipelines_dir=disk)
    assert pipeline.dataset().row_counts() == {"items": 25}
