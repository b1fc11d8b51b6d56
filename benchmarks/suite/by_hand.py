"""The four tables of the nested events, written as a user who knows the data and Spark would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from benchmarks.events import events

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = """
id BIGINT, type STRING, created_at TIMESTAMP, public BOOLEAN, score DOUBLE,
actor STRUCT<id: BIGINT, login: STRING, url: STRING, plan: STRUCT<name: STRING, seats: BIGINT>>,
repo STRUCT<id: BIGINT, name: STRING>,
payload STRUCT<push_id: BIGINT, size: STRING, ref: STRING, commits: ARRAY<STRUCT<sha: STRING,
message: STRING, distinct: BOOLEAN, files: ARRAY<STRING>>>>, labels ARRAY<STRING>
"""
_COLUMNS: Final = (
    "row.id", "row.type", "row.created_at", "row.public", "row.score", "row.payload.push_id",
    "row.payload.ref", "row.repo.id AS repo_id", "row.repo.name AS repo_name", "row.actor.id AS actor_id",
    "row.actor.login", "row.actor.url", "row.actor.plan.name AS plan", "row.actor.plan.seats",
    "try_cast(row.payload.size AS BIGINT) AS size",
    "CASE WHEN try_cast(row.payload.size AS BIGINT) IS NULL THEN row.payload.size END AS size_text",
    "'1' AS load_id", "id AS row_id",
)  # fmt: skip
_ROW_GROUP: Final = 50_000


def write_texts(path: Path, rows: int) -> None:
    """Write events as JSON texts, as an extraction leaves them: a Parquet file with a column `row`."""
    schema, group = pa.schema([("row", pa.string())]), min(_ROW_GROUP, max(1, rows // 2))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, rows, group):
            texts = [orjson.dumps(event).decode() for event in events(min(group, rows - first), start=first)]
            writer.write_table(pa.table({"row": texts}, schema=schema))


def write_nested(spark: SparkSession, texts: Path, to: Path) -> DataFrame:
    """Parse the texts by the given schema into one nested Parquet dataset, with an id for each row."""
    raw = spark.read.schema("row STRING").parquet(str(texts))
    place = "concat(_metadata.file_path, _metadata.row_index)"
    parsed = raw.select(
        F.expr(f"substr(base64(unhex(sha2({place}, 256))), 1, 14)").alias("id"),
        F.from_json("row", SCHEMA).alias("row"),
    )
    parsed.write.mode("overwrite").parquet(str(to))
    return spark.read.schema(parsed.schema).parquet(str(to))


def tables_by_hand(nested: DataFrame) -> dict[str, DataFrame]:
    """Return the root table and the three nested ones."""
    child = "substr(base64(unhex(sha2(concat(parent, '_{}_', idx), 256))), 1, 14)"
    labels = nested.selectExpr("id AS parent", "posexplode(row.labels) AS (idx, value)")
    commits = nested.selectExpr("id AS parent", "posexplode(row.payload.commits) AS (idx, c)")
    commits = commits.selectExpr("parent", "idx", f"{child.format('commits')} AS id", "c")
    files = commits.selectExpr("id AS parent", "posexplode(c.files) AS (idx, value)")
    return {
        "events": nested.selectExpr(*_COLUMNS),
        "labels": labels.selectExpr("value", "parent", "idx", f"{child.format('labels')} AS id"),
        "commits": commits.selectExpr("c.sha", "c.message", "c.distinct", "parent", "idx", "id"),
        "files": files.selectExpr("value", "parent", "idx", f"{child.format('files')} AS id"),
    }


def append_delta(frame: DataFrame, path: Path) -> None:
    """Append to a Delta table."""
    frame.write.format("delta").mode("append").save(str(path))
