"""Postgres with Spark: executors copy or insert rows, and frames are read over several connections."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql
from tests.conftest import MODE
from tests.service.postgres import URL
from tests.service.test_postgres_loads import drop_schemas, rows_of, schemas

import penstock
from penstock.config.credentials import ConnectionStringCredentials
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_LIBRARY_OF_EXECUTORS = ("psycopg", "no psycopg")
_NO_PSYCOPG = """#!/bin/sh
PYTHONPATH="{folder}:$PYTHONPATH" exec "{python}" "$@"
"""


@pytest.fixture
def dataset() -> Iterator[str]:
    """The name of a new dataset, dropped afterwards with the staging of its loads."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    yield name
    drop_schemas(name)


@pytest.fixture(autouse=True)
def _shared_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Store packages in a folder that executors see."""
    folder = Path(os.environ.get("PENSTOCK_TEST_SHARED", tmp_path)) / f"postgres-{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("DESTINATION__POSTGRES__PACKAGE_STORAGE", str(folder))
    yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=_LIBRARY_OF_EXECUTORS)
def library(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """What executors can load: those of a cluster have no psycopg, those of a local Spark lose it here."""
    name = str(request.param)
    if MODE != "local":
        if name == "psycopg":
            pytest.skip("the executors of the cluster have no psycopg")
        return name
    if name == "no psycopg":
        (tmp_path / "psycopg.py").write_text("raise ImportError('psycopg is not installed here')\n")
        python = tmp_path / "python"
        python.write_text(_NO_PSYCOPG.format(folder=tmp_path, python=sys.executable))
        python.chmod(0o755)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    return name


def new_pipeline(dataset: str, folder: Path, spark: SparkSession) -> penstock.Pipeline:
    return penstock.pipeline(
        "shop",
        destination=penstock.destinations.postgres(URL),
        dataset_name=dataset,
        pipelines_dir=folder,
        spark=spark,
    )


VALUES: dict[str, Any] = {
    "id": 2**63 - 1,
    "price": Decimal("12345678901234567890.123456789"),
    "ratio": 0.1,
    "paid": True,
    "day": date(1582, 10, 10),
    "at": datetime(1, 1, 1, tzinfo=UTC),
    "photo": b"\0\xff",
    "note": "a\0 'quoted\"\\ text,\n\t \N{GRINNING FACE}",
    "extra": '{"deep": [1, "\\u0000"]}',
}


@pytest.mark.every_mode
def test_rows_of_executors_are_the_same_with_psycopg_and_without(
    dataset: str,
    tmp_path: Path,
    spark: SparkSession,
    library: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    caplog.set_level(logging.WARNING)
    pipeline = new_pipeline(dataset, tmp_path, spark)
    rows = [{**VALUES, "tags": ["new", "vip"]}, {"id": 2, "tags": []}]

    pipeline.run(rows, table_name="values", columns={"extra": {"data_type": "json"}})

    names = ", ".join(f'"{name}"' for name in VALUES)
    expected = {**VALUES, "note": VALUES["note"].replace("\0", "\ufffd"), "extra": {"deep": [1, "\ufffd"]}}
    stored = rows_of(f'SELECT {names} FROM "values" ORDER BY id DESC', dataset=dataset)
    assert stored == [tuple(expected.values()), (2, *[None] * (len(VALUES) - 1))]
    tags = "SELECT value FROM values__tags ORDER BY _dlt_list_idx"
    assert rows_of(tags, dataset=dataset) == [("new",), ("vip",)]
    assert schemas(dataset) == [dataset]
    assert caplog.text.count("Install psycopg[binary] in the Python of the executors") == (
        library == "no psycopg"
    )
    assert "1 texts of values.note have a character" in caplog.text
    assert "1 texts of values.extra have a character" in caplog.text


def test_a_value_that_executors_cannot_store_fails_the_load(
    dataset: str, tmp_path: Path, spark: SparkSession, library: str, monkeypatch: Any
) -> None:
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    monkeypatch.setenv("LOAD__RAISE_ON_FAILED_JOBS", "true")
    pipeline = new_pipeline(dataset, tmp_path, spark)
    del library

    with pytest.raises(PenstockError) as failure:
        pipeline.run([{"code": "secret value"}], table_name="orders", columns={"code": {"precision": 3}})

    assert "value too long for type character varying(3) (SQLSTATE 22001)" in str(failure.value)
    assert "secret value" not in str(failure.value)
    assert rows_of("SELECT to_regclass('orders')", dataset=dataset) == [(None,)]


@pytest.mark.parametrize("strategy", ["delete-insert", "upsert", "scd2"])
def test_nested_rows_of_a_later_frame_follow_their_root_rows(
    dataset: str, tmp_path: Path, spark: SparkSession, strategy: str
) -> None:
    pipeline = new_pipeline(dataset, tmp_path, spark)
    merge: Any = {"disposition": "merge", "strategy": strategy}
    key: Any = {} if strategy == "scd2" else {"primary_key": "id"}
    plain, old = pa.table({"id": [1, 2]}), pa.table({"id": [5], "tags": [["old"]]})
    late = pa.table({"id": [3, 3, 4], "tags": [["lost"], ["won"], ["new"]]})

    for frame in (old, late):
        pipeline.run(penstock.resource([plain, frame], name="items", write_disposition=merge, **key))

    tags = [value for (value,) in rows_of("SELECT value FROM items__tags ORDER BY 1", dataset=dataset)]
    assert tags == (["lost", "new", "old", "won"] if strategy == "scd2" else ["new", "old", "won"])


@pytest.fixture
def large(dataset: str, tmp_path: Path, spark: SparkSession) -> penstock.Pipeline:
    """A pipeline with a table of 40 MB, which three connections read, beside a small one."""
    pipeline = new_pipeline(dataset, tmp_path, spark)
    pipeline.run([{"id": 0, "note": "", "hour": datetime(2024, 1, 1).time()}], table_name="notes")
    statement = sql.SQL(
        "INSERT INTO {} (id, note, hour, _dlt_load_id, _dlt_id) "
        "SELECT n, repeat('x', 400), '12:00', 'load', 'id' || n FROM generate_series(1, 90000) AS n"
    ).format(sql.Identifier(dataset, "notes"))
    with psycopg.connect(URL) as connection:
        connection.execute(statement)
    return pipeline


def test_a_large_table_is_read_over_several_connections_and_of_the_same_loads(
    large: penstock.Pipeline,
) -> None:
    frame = large.dataset()["notes"].spark()

    parts = [row["part"] for row in frame.selectExpr("spark_partition_id() AS part").distinct().collect()]
    summary = frame.selectExpr("count(*)", "sum(id)", "count(DISTINCT id)", "max(hour)").collect()
    large.run([{"id": 90_001}], table_name="others")
    with pytest.raises(Exception, match="a load was committed after this frame was created"):
        frame.count()

    assert len(parts) == 2
    assert [tuple(row) for row in summary] == [(90_001, 90_000 * 90_001 // 2, 90_001, "12:00:00")]
    assert large.dataset()["notes"].spark().count() == 90_001
    assert len(large.dataset()["others"].spark().collect()) == 1


def test_the_password_is_in_no_plan_and_no_error(
    large: penstock.Pipeline, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    password = str.__str__(ConnectionStringCredentials(URL).password or "")
    frame: DataFrame = large.dataset()["notes"].spark()
    frame.explain(extended=True)
    frame.createOrReplaceTempView("notes_of_postgres")

    with pytest.raises(Exception) as failure:  # noqa: PT011 - an error of Java
        frame.selectExpr("raise_error(note)").collect()
    large.run([{"id": 90_001}], table_name="others")
    with pytest.raises(Exception) as other:  # noqa: PT011 - an error of Java
        frame.count()

    described = spark.sql("DESCRIBE EXTENDED notes_of_postgres").collect()
    spark.catalog.dropTempView("notes_of_postgres")
    texts = [capsys.readouterr().out, str(failure.value), str(other.value), str(described)]
    assert password
    assert [text for text in texts if password in text] == []
