"""The road of raw rows: typed, named, with ids that do not move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from penstock.normalize.steps import parse_rows, stamp_rows
from penstock.normalize.tree import parse_tree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def upper(keys: Sequence[str]) -> dict[str, str]:
    return {key: f"N_{key}" for key in keys}


@pytest.fixture
def raw(spark: SparkSession, tmp_path: Path) -> DataFrame:
    folder = tmp_path / "packages" / "1.0" / "data"
    folder.mkdir(parents=True)
    for part in range(2):
        texts = [f'{{"a": {part * 10 + row}, "l": [{{"b": "x"}}]}}' for row in range(10)]
        pq.write_table(pa.table({"row": texts}), folder / f"part-{part}.parquet", row_group_size=3)
    files = spark.read.schema("row STRING").parquet(f"file://{folder}")
    return files.select(
        "row", F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("position")
    )


def ids(frame: DataFrame) -> dict[Any, str]:
    return {row["row"]: row["id"] for row in stamp_rows(frame, load_id="1.0").collect()}


def test_rows_are_read_under_their_keys_and_named_by_position(raw: DataFrame) -> None:
    tree = parse_tree("OBJECT<a: BIGINT, l: ARRAY<OBJECT<b: STRING>>>")

    parsed = parse_rows(raw, tree, upper)

    assert parsed.schema["row"].dataType.simpleString() == "struct<N_a:bigint,N_l:array<struct<N_b:string>>>"
    assert sorted(row[0] for row in parsed.select("row.N_a").collect()) == list(range(20))


def test_ids_are_unique_and_the_same_however_the_rows_are_read(raw: DataFrame, spark: SparkSession) -> None:
    first = ids(raw)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "300")
    second = ids(raw.repartition(7))
    spark.conf.unset("spark.sql.files.maxPartitionBytes")

    assert len(set(first.values())) == 20
    assert second == first
    assert all(len(found) == 14 for found in first.values())


def test_another_load_gives_other_ids(raw: DataFrame) -> None:
    other = {row["row"]: row["id"] for row in stamp_rows(raw, load_id="2.0").collect()}

    assert not set(other.values()) & set(ids(raw).values())
