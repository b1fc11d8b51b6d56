"""DataFrames of Spark as extract sees them: somebody else writes them, and the files are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.extract.extraction import extracted

from penstock.errors import StorageNotShared
from penstock.interfaces.file_schema import struct_field, struct_type
from penstock.interfaces.frame_writer import FrameWriteResult, register_frame_writer
from penstock.package import Package, Packages
from penstock.pipeline.frame_engine import write_frame
from penstock.schema.frozen_map import freeze

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COLUMNS = struct_type([struct_field("id", "long", name="id")])


class DataFrame:
    """What is known of a frame before it is landed: where its class comes from."""

    __module__ = "pyspark.sql.connect.dataframe"

    def __init__(self, *files: int, told: int | None) -> None:
        self.files, self.told = files, told


def write(
    frame: Any, address: str, *, hook: Any = None, conf: Any = None, quarantine_column: Any = None
) -> FrameWriteResult:
    from pathlib import Path

    for number, rows in enumerate(frame.files):
        Path(address).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(rows)}), f"{address}/part-{number}.parquet")
        Path(address, "_SUCCESS").touch()
    return FrameWriteResult(address=address, columns=COLUMNS, rows=frame.told)


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Package]:
    register_frame_writer(write)
    yield Packages.at(str(tmp_path)).package("17.5")
    register_frame_writer(write_frame)


def test_what_spark_counted_is_taken_over(package: Package) -> None:
    (table,) = extracted(DataFrame(3, 4, told=7), package, table_name="t").extracted.tables

    assert (table.data_format, table.rows, table.files) == ("typed", 7, 2)
    assert table.bytes > 0
    assert table.columns == freeze(COLUMNS)


def test_what_spark_did_not_count_is_told_by_the_files(package: Package) -> None:
    (table,) = extracted(DataFrame(3, 4, told=None), package, table_name="t").extracted.tables

    assert table.rows == 7


def test_files_that_only_executors_see_are_an_error(package: Package) -> None:
    with pytest.raises(StorageNotShared, match="not by the driver"):
        extracted(DataFrame(told=7), package, table_name="t")


def test_every_dataframe_has_a_folder_of_its_own(package: Package) -> None:
    def frames() -> Iterator[Any]:
        yield DataFrame(1, told=1)
        yield DataFrame(2, told=2)

    tables = extracted(frames(), package, table_name="t").extracted.tables

    assert [(table.folder, table.rows) for table in tables] == [
        ("data/extracted/00000", 1),
        ("data/extracted/00001", 2),
    ]
