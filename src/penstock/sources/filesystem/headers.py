"""The heads of files, read by the driver, several at a time: headers of CSV, columns of Parquet."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import FileNotReadable
from penstock.package.object_files import translate_store_errors
from penstock.sources.filesystem.csv_header import csv_header
from penstock.sources.filesystem.plan import COMPRESSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.sources.filesystem.csv_options import CsvOptions
    from penstock.sources.filesystem.items import ListedFile
    from penstock.sources.filesystem.location import FolderLocation
    from penstock.sources.filesystem.plan import ColumnTypes

H = TypeVar("H")
_THREADS: Final = 32
_FIRST_READ_BYTES: Final = 1 << 16
_MAX_HEADER_BYTES: Final = 1 << 24


def csv_headers(
    location: FolderLocation, files: Sequence[ListedFile], options: CsvOptions
) -> list[tuple[str, ...] | None]:
    """The header of each CSV file; None for one without a line."""

    def header(found: ListedFile) -> tuple[str, ...] | None:
        if not found.size:
            return None
        asked = _FIRST_READ_BYTES
        while True:
            content = _first_bytes(location, found, asked)
            is_all = len(content) < asked
            text = content.decode(options.encoding, errors="replace")
            try:
                names = csv_header(
                    text,
                    delimiter=options.delimiter,
                    quote=options.quote,
                    escape=options.escape,
                    comment=options.extra_options.get("comment", ""),
                    is_complete=is_all,
                )
            except csv.Error as error:
                reason = f"its first line cannot be split into fields: {error}"
                raise FileNotReadable(path=location.url(found.path), reason=reason) from error
            if names is not None:
                return names or None
            if asked >= _MAX_HEADER_BYTES:
                raise FileNotReadable(path=location.url(found.path), reason="its first line does not end")
            asked *= 16

    return _map_in_threads(files, header)


def parquet_columns(location: FolderLocation, files: Sequence[ListedFile]) -> list[ColumnTypes | None]:
    """The columns of each Parquet file, by its footer; None for one without a byte."""

    def columns(found: ListedFile) -> ColumnTypes | None:
        if not found.size:
            return None
        try:
            with (
                translate_store_errors(location.url(found.path)),
                location.file_system.open(location.fs_path(found.path)) as stream,
            ):
                file = pq.ParquetFile(stream)
                fields, leaves = file.schema_arrow, [file.schema.column(at) for at in range(len(file.schema))]
        except ValueError as error:
            raise FileNotReadable(path=location.url(found.path), reason=str(error)) from error
        rest, url = iter(leaves), location.url(found.path)
        return tuple(
            (one.name, _type_name(one, list(islice(rest, _leaf_count(one.type))), url=url)) for one in fields
        )

    return _map_in_threads(files, columns)


def _leaf_count(data_type: pa.DataType) -> int:
    """How many columns of Parquet hold a column. Names do not tell: those of flat ones may have dots."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _leaf_count(data_type.storage_type)
    if not pa.types.is_nested(data_type):
        return 1
    return sum(_leaf_count(data_type.field(at).type) for at in range(data_type.num_fields))


def _type_name(field: pa.Field, leaves: Sequence[Any], *, url: str) -> str:
    """The type of a column, as a text; `own` are the columns of Parquet that hold it.

    Arrow calls two things nanoseconds: those of Parquet, which Spark refuses, and the old 96 bits, which
    Spark writes itself. Files of the one are not read together with files of the other.
    """
    if pa.types.is_nested(field.type) and any(map(_is_in_nanoseconds, leaves)):
        raise FileNotReadable(
            path=url,
            reason=f"the column {field.name!r} has moments in nanoseconds within it, which Spark does not "
            "read; write it with coerce_timestamps='us' and allow_truncated_timestamps=True",
        )
    is_old = any(leaf.physical_type == "INT96" for leaf in leaves)
    return f"int96 {field.type}" if is_old else str(field.type)


def _is_in_nanoseconds(leaf: Any) -> bool:
    kind = leaf.logical_type
    return bool(kind.type == "TIMESTAMP" and json.loads(kind.to_json())["timeUnit"] == "nanoseconds")


def _first_bytes(location: FolderLocation, file: ListedFile, size: int) -> bytes:
    packed = next((kind for end, kind in COMPRESSIONS.items() if file.path.endswith(end)), None)
    with translate_store_errors(location.url(file.path)):
        if packed is None:
            whole: bytes = location.file_system.cat_file(
                location.fs_path(file.path), start=0, end=min(size, file.size)
            )
            return whole
        with location.file_system.open(location.fs_path(file.path), "rb", compression=packed) as stream:
            content: bytes = stream.read(size)
            return content


def _map_in_threads(files: Sequence[ListedFile], function: Callable[[ListedFile], H]) -> list[H]:
    """Most of it is waiting for storage."""
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="penstock-file-heads") as threads:
        found: list[Any] = list(threads.map(function, files))
    return found
