"""Files that a resource yields instead of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import penstock
from penstock import mark
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS: list[dict[str, Any]] = [{"id": 1, "note": "x"}, {"id": 2, "note": None}, {"id": 3, "note": ""}]
SCHEMA = pa.schema([("id", pa.int64()), ("note", pa.string())])


def write(path: Path) -> Path:
    match path.suffix:
        case ".parquet":
            parquet.write_table(pa.Table.from_pylist(ROWS), path)
        case ".jsonl":
            path.write_text('{"id": 1, "note": "x"}\n\n{"id": 2, "note": null}\n{"id": 3, "note": ""}\n')
        case _:
            path.write_text('id,note\n1,x\n2,\n3,""\n')
    return path


def rows_of(items: Any) -> list[dict[str, Any]]:
    return [row for item in items for row in (item.to_pylist() if hasattr(item, "to_pylist") else [item])]


@pytest.mark.parametrize("file_format", ["parquet", "jsonl", "csv"])
def test_the_rows_of_a_file_are_read_before_the_generator_continues(tmp_path: Path, file_format: Any) -> None:
    path = write(tmp_path / f"rows.{file_format}")

    @penstock.resource
    def orders() -> Iterator[Any]:
        yield mark.with_file_import(str(path), file_format, items_count=3, hints=SCHEMA)
        path.unlink()

    assert rows_of(orders()) == ROWS
    assert not path.exists()


def test_csv_without_a_schema_is_text(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv")
    orders = penstock.resource([mark.with_file_import(str(path), "csv")], name="orders")

    assert rows_of(orders) == [{**row, "id": str(row["id"])} for row in ROWS]


def test_a_file_is_extracted_into_the_table_with_its_hints(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl")
    hints = mark.make_hints(table_name="imported", primary_key="id")
    pipeline = penstock.pipeline("file_import", pipelines_dir=str(tmp_path / "pipelines"))

    @penstock.resource
    def orders() -> Iterator[Any]:
        yield mark.with_file_import(str(path), "jsonl", hints=hints)

    info = pipeline.extract(orders())

    assert (info.rows, "- imported: 3 rows" in str(info)) == (3, True)


def test_an_unknown_format_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    unknown: Any = "insert_values"
    with pytest.raises(UsageError, match="'insert_values' cannot be imported"):
        mark.with_file_import(str(tmp_path / "x"), unknown)
    with pytest.raises(UsageError, match="is not a file"):
        mark.with_file_import(str(tmp_path / "x"), "csv")
