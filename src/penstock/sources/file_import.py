"""Rows of a file that a resource names instead of reading it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa
from pyarrow import csv, parquet

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_FORMATS: Final = ("parquet", "jsonl", "csv")
_PAGE_ROWS: Final = 5000


def file_pages(file_path: str, file_format: str, schema: pa.Schema | None = None) -> Iterator[Any]:
    """Yield the rows of a file: Parquet, and other files with a schema, as Arrow batches; else pages of rows.

    Values of CSV files without a schema are text, which declared columns convert.
    """
    path = Path(file_path)
    if file_format not in FILE_FORMATS:
        raise UsageError(
            f"files in the format {file_format!r} cannot be imported",
            hint=f"write the file in one of the formats {', '.join(FILE_FORMATS)}",
        )
    if not path.is_file():
        raise UsageError(f"{file_path} is not a file", hint="write the file before it is yielded")
    if file_format == "parquet":
        return _parquet_batches(path)
    return _csv_pages(path, schema) if file_format == "csv" else _json_pages(path, schema)


def schema_of_frame(hints: Any) -> pa.Schema | None:
    """Return the schema of an Arrow object or a pandas frame; None for any other value."""
    if isinstance(hints, pa.Schema):
        return hints
    if isinstance(hints, (pa.Table, pa.RecordBatch)):
        return hints.schema
    if type(hints).__module__.partition(".")[0] == "pandas":
        return pa.Schema.from_pandas(hints, preserve_index=False)
    return None


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    with parquet.ParquetFile(path) as file:
        yield from file.iter_batches()


def _csv_pages(path: Path, schema: pa.Schema | None) -> Iterator[Any]:
    with csv.open_csv(path) as reader:
        names = reader.schema.names
    types = dict.fromkeys(names, pa.string()) | ({} if schema is None else {f.name: f.type for f in schema})
    options = csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    with csv.open_csv(path, convert_options=options) as reader:
        for batch in reader:
            yield batch if schema is not None else batch.to_pylist()


def _json_pages(path: Path, schema: pa.Schema | None) -> Iterator[Any]:
    with path.open("rb") as lines:
        rows = (orjson.loads(line) for line in lines if line.strip())
        while page := list(islice(rows, _PAGE_ROWS)):
            yield page if schema is None else pa.RecordBatch.from_pylist(page, schema)
