"""Steps over frames: hashes of rows, and nulls of JSON columns."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

import penstock
from penstock.sources.helpers.transform import add_row_hash_to_table
from penstock.sources.sql_database.helpers import unwrap_json_connector_x

ROWS = pa.table({"id": [1, 2, 1], "name": ["a", None, "a"]})


def test_equal_rows_have_equal_hashes_in_every_kind_of_frame() -> None:
    add_hash = add_row_hash_to_table("version")

    from_table = add_hash(ROWS)
    from_batch = add_hash(ROWS.to_batches()[0])
    from_pandas = add_hash(ROWS.to_pandas())

    first, second, third = from_table["version"].to_pylist()
    assert first == third != second
    assert from_table["version"].type == pa.int64()
    assert from_batch.equals(from_table)
    assert from_pandas["version"].tolist() == [first, second, third]


def test_hashes_are_those_of_pandas_as_signed_numbers() -> None:
    expected = pd.util.hash_pandas_object(ROWS.to_pandas(), index=False)

    hashes = add_row_hash_to_table("version")(ROWS)["version"].to_pylist()

    assert [number % 2**64 for number in hashes] == expected.tolist()


def test_frames_are_not_changed_in_place() -> None:
    frame = ROWS.to_pandas()

    add_row_hash_to_table("version")(frame)

    assert list(frame.columns) == ["id", "name"]


def test_a_resource_hashes_the_rows_of_its_frames() -> None:
    rows = penstock.resource([ROWS], name="rows").add_map(add_row_hash_to_table("version"))

    (frame,) = list(rows)

    assert frame.column_names == ["id", "name", "version"]


def test_texts_null_of_a_json_column_become_nulls() -> None:
    schema = pa.schema([pa.field("facts", pa.string(), nullable=False), pa.field("id", pa.int64())])
    table = pa.table({"facts": ["null", '"null"', "[]"], "id": [1, 2, 3]}, schema=schema)

    unwrapped = unwrap_json_connector_x("facts")(table)

    assert unwrapped["facts"].to_pylist() == [None, '"null"', "[]"]
    assert unwrapped.column_names == ["facts", "id"]
    with pytest.raises(KeyError, match="other"):
        unwrap_json_connector_x("other")(table)
