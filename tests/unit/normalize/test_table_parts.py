"""Row counts of normalize: rows read and rows written must agree."""

from __future__ import annotations

import pytest

from penstock.errors import InternalError
from penstock.normalize.nested_layout import NestedLayout, Object
from penstock.normalize.table_inputs import TableInput
from penstock.normalize.table_parts import WrittenDataset, check_row_count
from penstock.package.extract_manifest import ExtractedTable


def check(rows_in: int, rows_out: int) -> None:
    table = ExtractedTable(
        table="orders",
        resource="orders",
        write_disposition="append",
        folder="data/a",
        rows=rows_in,
        bytes=1,
        files=1,
    )
    check_row_count(
        TableInput(table=table, folders=("data/a",), columns=None, rows=rows_in),
        WrittenDataset(folders=("data/b",), layout=NestedLayout(Object(fields={})), rows=rows_out),
    )


@pytest.mark.parametrize("rows_out", [9, 11, 0])
def test_a_difference_between_rows_in_and_rows_out_is_an_error(rows_out: int) -> None:
    with pytest.raises(InternalError, match=f"10 rows of orders went in and {rows_out} came out"):
        check(10, rows_out)


def test_equal_row_counts_pass() -> None:
    check(10, 10)
