"""Steps of normalize: rows are typed and named, and their ids are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from penstock.normalize.nested_layout import build_layout
from penstock.normalize.profile import profile_rows
from penstock.normalize.steps import add_row_ids, parse_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def raw(spark: SparkSession, tmp_path: Path) -> DataFrame:
    folder = tmp_path / "packages" / "1.0" / "data"
    folder.mkdir(parents=True)
    for part in range(2):
        texts = [f'{{"a": {part * 10 + row}, "l": [{{"b": "x"}}]}}' for row in range(10)]
        pq.write_table(pa.table({"row": texts}), folder / f"part-{part}.parquet", row_group_size=3)
    files = spark.read.schema("row STRING").parquet(f"file://{folder}")
    return files.select(
        F.col("row").alias("text"),
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("position"),
    )


def ids(frame: DataFrame) -> dict[Any, str]:
    return {row["text"]: row["id"] for row in add_row_ids(frame, load_id="1.0").collect()}


def test_rows_are_read_under_their_keys_and_named_by_position(raw: DataFrame) -> None:
    dataset = build_layout(profile_rows([b'{"a": 1, "l": [{"odd key": "x"}]}']).forms, lambda *_: False)

    parsed = parse_rows(raw, dataset)

    assert parsed.schema["row"].dataType.simpleString() == "struct<a:bigint,l:array<struct<k0:string>>>"
    assert sorted(row[0] for row in parsed.select("row.a").collect()) == list(range(20))
    assert parsed.where("raw IS NOT NULL").count() == 0


def test_a_row_that_does_not_parse_keeps_its_text_and_position(raw: DataFrame) -> None:
    dataset = build_layout(profile_rows([b'{"a": true}']).forms, lambda *_: False)

    result = parse_rows(raw, dataset).where("raw IS NOT NULL").select("raw.*").collect()

    assert len(result) == 20
    assert {row["position"] for row in result} == set(range(10))


def test_ids_are_unique_and_independent_of_how_rows_are_read(raw: DataFrame, spark: SparkSession) -> None:
    first = ids(raw)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "300")
    second = ids(raw.repartition(7))
    spark.conf.unset("spark.sql.files.maxPartitionBytes")

    assert len(set(first.values())) == 20
    assert second == first
    assert all(len(result) == 14 for result in first.values())


def test_another_load_has_other_ids(raw: DataFrame) -> None:
    other = {row["text"]: row["id"] for row in add_row_ids(raw, load_id="2.0").collect()}

    assert not set(other.values()) & set(ids(raw).values())
