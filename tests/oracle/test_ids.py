"""Ids of merged rows are those of dlt, so that each tool can continue the other's table."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.oracle.oracle_client import ask, needs_dlt
from tests.oracle.row_sets import code, rowset

from penstock.extract.encode import encode
from penstock.package.dlt_ids import ID_SEPARATOR, nested_hashes, row_hashes

ROWS: list[dict[str, Any]] = [
    {"id": 1, "Part No": "a", "deep": {"Key": 2.5}, "list": [{"x": 1, "inner": [1, 2]}, {"x": 2}]},
    {"id": 2, "Part No": 'q"\\\n\x1f日本', "deep": {"Key": 1e-5}, "list": [], "small": [1.5e-7, 0.00012]},
    {"id": 3, "Part No": "", "deep": {"Key": 1e22}, "d": Decimal("1.50"), "b": b"\x00\xff"},
    {
        "id": 4,
        "Part No": "z",
        "deep": {"Key": -3},
        "at": datetime(2024, 5, 6, 7, tzinfo=UTC),
        "on": date(2024, 1, 1),
    },
    {"id": 5, "Part No": "nulls", "deep": {"Key": True}, "o": {"b": None, "a": [{}, {"z": [], "y": {}}]}},
]
UPSERT = {"disposition": "merge", "strategy": "upsert"}
HISTORY = {"disposition": "merge", "strategy": "scd2"}
KEYS = {"id": [["id"]], "part_no": [["Part No"]], "deep__key": [["deep", "Key"]]}


def roots(rows: list[Any], keys: Any = None) -> list[str]:
    texts = [encode(row).decode() for row in rows]
    batch = pa.RecordBatch.from_pydict({"text": texts, "id": ["?"] * len(texts)})
    (done,) = row_hashes(text_column="text", id_column="id", key_paths=keys)([batch])
    return [str(item) for item in done.column("id").to_pylist()]


def dlt_ids(*sets: list[Any], disposition: Any, keys: Any = None) -> list[dict[str, list[Any]]]:
    options = {"name": "t", "write_disposition": disposition, "primary_key": keys}
    return list(ask("ids", cases=[{**options, "rows": [code(row) for row in rows]} for rows in sets]))


@needs_dlt
def test_ids_from_keys_are_equal_to_those_of_dlt() -> None:
    (result,) = dlt_ids(ROWS, disposition=UPSERT, keys=["id", "Part No", "deep__key"])

    assert roots(ROWS, KEYS) == [row["_dlt_id"] for row in result["t"]]


@needs_dlt
def test_ids_from_whole_rows_are_equal_to_those_of_dlt() -> None:
    rows = [*ROWS, *(row for number in range(120) for batch in rowset(number).batches for row in batch)]
    remaining = [row for row in rows if isinstance(row, dict)]

    result = dlt_ids(*([row] for row in remaining), disposition=HISTORY)

    pairs = [
        (row, tables["t"][0]["_dlt_id"]) for row, tables in zip(remaining, result, strict=True) if tables
    ]
    assert len(pairs) > 0.9 * len(remaining)
    assert roots([row for row, _ in pairs]) == [their for _, their in pairs]


@needs_dlt
def test_ids_of_nested_rows_are_equal_to_those_of_dlt() -> None:
    (result,) = dlt_ids(ROWS, disposition=UPSERT, keys=["id"])
    expected = [(row["_dlt_parent_id"], row["_dlt_id"]) for row in result["t__list__inner"]]
    chains = [
        f"{root}{ID_SEPARATOR}1{ID_SEPARATOR}0{ID_SEPARATOR}2{ID_SEPARATOR}{index}"
        for root in [roots(ROWS[:1], {"id": [["id"]]})[0]]
        for index in range(2)
    ]
    parents = [chain.rsplit(ID_SEPARATOR, 2)[0] for chain in chains]
    batch = pa.RecordBatch.from_pydict({"_dlt_parent_id": parents, "n": [1, 2], "_dlt_id": chains})

    (done,) = nested_hashes(["t", "t__list", "t__list__inner"], ["_dlt_parent_id", "_dlt_id"])([batch])

    assert list(zip(done["_dlt_parent_id"].to_pylist(), done["_dlt_id"].to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("text", ["{", '{"a":', "[" * 2_000 + "]" * 2_000])
def test_a_row_that_cannot_be_read_keeps_the_id_of_its_position(text: str) -> None:
    batch = pa.RecordBatch.from_pydict({"text": [text], "id": ["by place"]})

    (done,) = row_hashes(text_column="text", id_column="id")([batch])

    assert done.column("id").to_pylist() == ["by place"]
