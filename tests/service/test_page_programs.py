"""Programs and commands of pages that need Postgres or a bucket: each runs as the page shows it.

Addresses of the pages are replaced by those of the servers that `make up` starts, and settings are in the
environment. Hidden lines of setup are not needed: the tests make the tables and the files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.doc_blocks import DocBlock, doc_blocks
from tests.restapi import Api
from tests.service.bucket import keys
from tests.service.postgres import URL, execute, new_schema, query
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.package import FileStorage
from penstock.spark.conf import temporary_conf
from penstock.spark.s3 import s3a_conf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

THIS_TEST = "tests/service/test_page_programs.py"
ORDERS = [{"id": 1, "updated_at": "2026-05-04T09:00:00Z"}]
TABLES = """
CREATE TABLE {schema}.orders (id int PRIMARY KEY, updated_at timestamptz);
CREATE TABLE {schema}.countries (id int PRIMARY KEY);
CREATE TABLE {schema}.currencies (id int PRIMARY KEY);
INSERT INTO {schema}.orders VALUES (1, now()), (2, now());
INSERT INTO {schema}.countries VALUES (1);
INSERT INTO {schema}.currencies VALUES (1);
"""

pytestmark = pytest.mark.at_length


def blocks_of(page: str) -> list[DocBlock]:
    """Return the blocks of a page that this module runs."""
    return [block for block in doc_blocks(page) if block.reason == THIS_TEST]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Path:
    """Work in an empty project; pipelines use the session of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    spark.createDataFrame([], "nothing INT")
    return tmp_path


# --- Postgres


@pytest.fixture
def database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A schema with two tables, which the sources of the pages read."""
    del folder
    with new_schema() as schema:
        execute(TABLES.format(schema=schema))
        monkeypatch.setenv("SOURCES__SQL_DATABASE__CREDENTIALS", URL)
        monkeypatch.setenv("SOURCES__SQL_DATABASE__SCHEMA", schema)
        monkeypatch.setenv("DESTINATION__POSTGRES__CREDENTIALS", URL)
        yield schema


@pytest.mark.parametrize(
    ("page", "tables"),
    [
        ("docs/how-to/postgres.md", {"orders": 2}),
        ("docs/how-to/many-tables.md", {"orders": 2, "countries": 1, "currencies": 1}),
        ("docs/sql-databases.md", {"orders": 2}),
    ],
)
def test_a_program_of_a_page_reads_tables(database: str, page: str, tables: dict[str, int]) -> None:
    assert database
    (block,) = blocks_of(page)
    names: dict[str, Any] = {"penstock": penstock, "pipeline": penstock.pipeline("shop", destination="delta")}

    exec(block.text, names)

    assert names["pipeline"].dataset().row_counts() == tables


def test_the_program_of_a_page_loads_into_a_schema(database: str) -> None:
    (block,) = blocks_of("docs/destinations.md")

    exec(block.text.replace('"raw"', f'"{database}_raw"'), {"penstock": penstock})

    try:
        assert query(f"SELECT count(*) FROM {database}_raw.customers__tags") == [(2,)]
    finally:
        execute(f"DROP SCHEMA {database}_raw CASCADE")


def test_loads_in_one_line_are_complete(database: str, folder: Path) -> None:
    (block,) = blocks_of("docs/command-line.md")
    (folder / "data").mkdir()
    (folder / "data" / "orders.csv").write_text("id\n1\n2\n3\n", encoding="utf-8")
    (folder / "orders.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    rows = []
    with Api() as api:
        addresses = {
            "https://api.example.com/items": f"{api.url}/relative",
            "postgresql://reader@db/shop": URL,
            "postgresql://loader@db/shop": URL,
        }
        for number, (_, *words) in enumerate(block.commands):
            own = ("--pipeline-name", f"load_{number}", "--dataset", f"{database}_{number}", "--json")
            done = CliRunner().invoke(app, [*(addresses.get(word, word) for word in words), *own])
            assert done.exit_code == 0, f"{words}: {done.output}{done.exception!r}"
            rows.append(sum(json.loads(done.stdout)["rows"].values()))

    execute(f"DROP SCHEMA {database}_{len(rows) - 1} CASCADE")
    assert rows == [1, 3, 2, 25, 1, 1]


# --- a bucket


@pytest.fixture
def bucket(
    folder: Path, location: str, session_of_mode: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A folder of a bucket instead of all buckets of the pages; the user's session has the keys too."""
    del folder
    for section in ("DESTINATION__DELTA", "SOURCES__FILESYSTEM"):
        for name in ("aws_access_key_id", "aws_secret_access_key", "endpoint_url", "conditional_writes"):
            monkeypatch.setenv(f"{section}__CREDENTIALS__{name.upper()}", str(getattr(keys(), name)))
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", f"{location}/company-lake/raw")
    conf = {"fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem", **s3a_conf(location, keys())}
    with temporary_conf(session_of_mode, conf):
        for name in ("company-drop/orders", "shop/orders"):
            frame = session_of_mode.createDataFrame([(1,), (2,)], "id LONG")
            frame.write.parquet(f"{location}/{name}".replace("s3://", "s3a://"))
        store = FileStorage(location, credentials=keys())
        store.put("raw/orders/1.csv", b"id;name\n1;a\n2;b\n")
        store.put("raw/events/1.jsonl", b'{"id": 1}\n')
        yield location


@pytest.mark.parametrize(
    ("page", "tables"),
    [
        ("README.md", {"orders": 1}),
        ("docs/how-to/s3.md", {"orders": 1}),
        ("docs/how-to/spark-platforms.md", {"orders": 2}),
        ("docs/sources.md", {"orders": 4}),
        ("docs/files.md", {"orders": 2, "read_jsonl": 1}),
    ],
)
def test_the_programs_of_a_page_load_into_a_bucket(
    bucket: str, session_of_mode: SparkSession, page: str, tables: dict[str, int]
) -> None:
    pipeline = penstock.pipeline("shop", destination="delta", spark=session_of_mode)
    names: dict[str, Any] = {
        "penstock": penstock,
        "spark": session_of_mode,
        "orders": ORDERS,
        "pipeline": pipeline,
    }

    for block in blocks_of(page):
        exec(block.text.replace("s3://", f"{bucket}/"), names)
        if block.text.startswith("# with a destination\n@"):
            pipeline.run(names["orders"])

    loaded = penstock.pipeline()
    assert loaded.destination is not None
    assert loaded.dataset().row_counts() == tables
