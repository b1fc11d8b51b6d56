"""Spark DataFrames in extract: an engine writes them, and extract reads the files for the counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.extract.extraction import extract_data

from penstock.errors import InternalError, StorageNotShared
from penstock.interfaces.file_schema import struct_field, struct_type
from penstock.interfaces.frame_engine import FrameCursorEngine, FrameWriteResult
from penstock.package import Package, Packages
from penstock.schema.frozen_map import freeze

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.extract.run import ExtractResult

COLUMNS = struct_type([struct_field("id", "long", name="id")])


class DataFrame:
    """A frame with the module of Spark's class, by which extract recognizes it."""

    __module__ = "pyspark.sql.connect.dataframe"

    def __init__(self, *file_rows: int, row_count: int | None, is_flat: bool = False) -> None:
        self.file_rows, self.row_count, self.is_flat = file_rows, row_count, is_flat


class LocalFrameEngine:
    """Writes the files of a `DataFrame` with pyarrow."""

    def __init__(self) -> None:
        self.system_columns: list[Mapping[str, str] | None] = []

    @property
    def cursors(self) -> FrameCursorEngine:
        raise NotImplementedError

    def write_frame(
        self,
        frame: Any,
        address: str,
        *,
        hook: Any = None,
        conf: Any = None,
        quarantine_column: Any = None,
        system_columns: Mapping[str, str] | None = None,
    ) -> FrameWriteResult:
        for number, rows in enumerate(frame.file_rows):
            Path(address).mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"id": range(rows)}), f"{address}/part-{number}.parquet")
            Path(address, "_SUCCESS").touch()
        self.system_columns.append(system_columns)
        return FrameWriteResult(
            address=address, columns=COLUMNS, rows=frame.row_count, has_system_columns=frame.is_flat
        )


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def extract_frames(data: Any, package: Package) -> ExtractResult:
    return extract_data(data, package, table_name="t", frame_engine=LocalFrameEngine())


def test_the_row_count_that_spark_reports_is_used(package: Package) -> None:
    (table,) = extract_frames(DataFrame(3, 4, row_count=7), package).extracted.tables

    assert (table.data_format, table.rows, table.files) == ("typed", 7, 2)
    assert table.bytes > 0
    assert table.columns == freeze(COLUMNS)


def test_rows_that_spark_did_not_count_are_counted_from_the_files(package: Package) -> None:
    (table,) = extract_frames(DataFrame(3, 4, row_count=None), package).extracted.tables

    assert table.rows == 7


def test_files_that_the_driver_cannot_see_are_an_error(package: Package) -> None:
    with pytest.raises(StorageNotShared, match="not to the driver"):
        extract_frames(DataFrame(row_count=7), package)


def test_every_dataframe_has_its_own_folder(package: Package) -> None:
    frames = iter([DataFrame(1, row_count=1), DataFrame(2, row_count=2)])

    tables = extract_frames(frames, package).extracted.tables

    assert [(table.folder, table.rows) for table in tables] == [
        ("data/extracted/00000", 1),
        ("data/extracted/00001", 2),
    ]


def test_each_write_gets_the_system_columns_of_its_folder(package: Package) -> None:
    frames, engine = [DataFrame(1, row_count=1, is_flat=True), DataFrame(2, row_count=2)], LocalFrameEngine()

    tables = extract_data(iter(frames), package, table_name="t", frame_engine=engine).extracted.tables

    assert [table.data_format for table in tables] == ["flat", "typed"]
    first, second = (columns or {} for columns in engine.system_columns)
    assert list(first) == ["_dlt_load_id", "_dlt_id"]
    assert first["_dlt_load_id"] == second["_dlt_load_id"] == "'17.5'"
    assert "'17.5/data/extracted/00000'" in first["_dlt_id"]
    assert "'17.5/data/extracted/00001'" in second["_dlt_id"]


def test_a_dataframe_without_an_engine_is_an_error(package: Package) -> None:
    with pytest.raises(InternalError, match="no engine for DataFrames"):
        extract_data(DataFrame(1, row_count=1), package, table_name="t")
