"""Tables to which the driver may commit a file, and the columns of that file."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.destinations.iceberg.file_commit import parquet_content
from penstock.destinations.iceberg.file_commit_plan import find_obstacle

ROWS = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "amount": pa.array([Decimal("1.5"), None], pa.decimal128(12, 2)),
        "at": pa.array([0, None], pa.timestamp("us", tz="UTC")),
    }
)
FIELDS: list[dict[str, Any]] = [
    {"id": 4, "name": "at", "required": False, "type": "timestamptz"},
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 3, "name": "amount", "required": False, "type": "decimal(12, 2)"},
    {"id": 9, "name": "added_later", "required": False, "type": {"type": "list"}},
]


def metadata(fields: Any = FIELDS, **values: Any) -> dict[str, Any]:
    return {
        "format-version": 2,
        "current-schema-id": 1,
        "schemas": [{"schema-id": 0, "fields": []}, {"schema-id": 1, "fields": fields}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {"write.parquet.compression-codec": "snappy", "write.metadata.metrics.default": "full"},
        **values,
    }


def field(**values: Any) -> list[dict[str, Any]]:
    return [*FIELDS[1:], {**FIELDS[0], **values}]


def test_rows_with_columns_of_the_table_are_committed_as_a_file() -> None:
    assert find_obstacle(metadata(), ROWS.schema) is None
    assert find_obstacle(metadata(**{"format-version": 3}), ROWS.schema) is None


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (metadata(**{"format-version": 1}), "the table has format version 1"),
        (metadata(**{"default-sort-order-id": 1}), "the table has a sort order"),
        (metadata(**{"partition-specs": [{"spec-id": 0, "fields": [{}]}]}), "the table has partitions"),
        (
            metadata(properties={"write.parquet.bloom-filter-enabled.column.id": "true"}),
            "the table has the property write.parquet.bloom-filter-enabled.column.id",
        ),
        (metadata(properties={"encryption.key-id": "k"}), "the table has the property encryption.key-id"),
        (
            metadata(properties={"write.format.default": "orc"}),
            "the table has the property write.format.default",
        ),
        (metadata(properties={"write.wap.enabled": "true"}), "the table has the property write.wap.enabled"),
        (metadata(field(required=True)), "column at is required or has a default value"),
        (metadata(field(**{"write-default": "x"})), "column at is required or has a default value"),
        (
            metadata(field(type="timestamp")),
            "column at is timestamp in the table and timestamp[us, tz=UTC] in the rows",
        ),
        (metadata(FIELDS[1:]), "column at is None in the table and timestamp[us, tz=UTC] in the rows"),
    ],
)
def test_spark_writes_to_unusual_tables(table: dict[str, Any], reason: str) -> None:
    assert find_obstacle(table, ROWS.schema) == reason


def test_the_columns_of_a_file_have_the_ids_of_the_table() -> None:
    content = parquet_content(ROWS, metadata())

    file = pq.ParquetFile(io.BytesIO(content))
    ids = {column.name: column.metadata[b"PARQUET:field_id"] for column in file.schema_arrow}
    group = file.metadata.row_group(0)
    assert ids == {"id": b"1", "amount": b"3", "at": b"4"}
    assert group.column(0).compression == "SNAPPY"
    assert [group.column(number).physical_type for number in range(3)] == ["INT64"] * 3
    assert file.read().to_pylist() == ROWS.to_pylist()
