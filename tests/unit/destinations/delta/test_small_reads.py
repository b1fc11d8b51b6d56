"""Small tables that Spark has written are read without it, with the same values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from penstock.destinations.delta.small_reads import read_small_table
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


def test_timestamps_in_the_default_type_of_spark_have_the_whole_range(tmp_path: Path) -> None:
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None]
    rows = pa.table({"at": pa.array(moments, pa.timestamp("us", "UTC"))})
    write_deltalake(tmp_path / "items", rows)
    (file,) = (tmp_path / "items").glob("*.parquet")
    pq.write_table(rows, file, use_deprecated_int96_timestamps=True)

    table = read_small_table(FileStorage(str(tmp_path)), "items", None, None)

    assert table is not None
    assert table.column("at").to_pylist() == moments
