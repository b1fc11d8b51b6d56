"""Headers of CSV files and columns of Parquet files, read by the driver in threads."""

from __future__ import annotations

import csv
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import FileNotReadable
from penstock.package.object_files import translate_store_errors
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
    """Return the header of each CSV file; None for a file without lines."""

    def header(file: ListedFile) -> tuple[str, ...] | None:
        if not file.size:
            return None
        size = _FIRST_READ_BYTES
        while True:
            content = _first_bytes(location, file, size)
            is_complete = len(content) < size
            text = content.decode(options.encoding, errors="replace")
            try:
                names = csv_header(
                    text,
                    delimiter=options.delimiter,
                    quote=options.quote,
                    escape=options.escape,
                    comment=options.extra_options.get("comment", ""),
                    is_complete=is_complete,
                )
            except csv.Error as error:
                reason = f"its first line cannot be split into fields: {error}"
                raise FileNotReadable(path=location.url(file.path), reason=reason) from error
            if names is not None:
                return names or None
            if size >= _MAX_HEADER_BYTES:
                raise FileNotReadable(
                    path=location.url(file.path), reason="its first line is longer than 16 MiB"
                )
            size *= 16

    return _map_in_threads(files, header)


def parquet_columns(location: FolderLocation, files: Sequence[ListedFile]) -> list[ColumnTypes | None]:
    """Return the columns in the footer of each Parquet file; None for an empty file."""

    def columns(file: ListedFile) -> ColumnTypes | None:
        if not file.size:
            return None
        url = location.url(file.path)
        try:
            with (
                translate_store_errors(url),
                location.file_system.open(location.fs_path(file.path)) as stream,
            ):
                footer = pq.ParquetFile(stream)
                leaves = iter([footer.schema.column(index) for index in range(len(footer.schema))])
                fields = footer.schema_arrow
        except ValueError as error:
            raise FileNotReadable(path=url, reason=str(error)) from error
        return tuple(
            (field.name, _type_name(field, list(islice(leaves, _leaf_count(field.type))), url=url))
            for field in fields
        )

    return _map_in_threads(files, columns)


def _leaf_count(data_type: pa.DataType) -> int:
    """Return the number of Parquet leaf columns of a column. Names do not show it: they may contain dots."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _leaf_count(data_type.storage_type)
    if not pa.types.is_nested(data_type):
        return 1
    return sum(_leaf_count(data_type.field(index).type) for index in range(data_type.num_fields))


def _type_name(field: pa.Field, leaves: Sequence[Any], *, url: str) -> str:
    """Return the type of a column as text; `leaves` are its Parquet leaf columns.

    Arrow reads two types as nanoseconds: Parquet's own, which Spark rejects, and the older 96-bit type,
    which Spark writes. Files of the two types are not read together.
    """
    if pa.types.is_nested(field.type) and any(map(_is_in_nanoseconds, leaves)):
        raise FileNotReadable(
            path=url,
            reason=f"the column {field.name!r} contains nested timestamps in nanoseconds, which Spark does "
            "not read; write it with coerce_timestamps='us' and allow_truncated_timestamps=True",
        )
    is_int96 = any(leaf.physical_type == "INT96" for leaf in leaves)
    return f"int96 {field.type}" if is_int96 else str(field.type)


def _is_in_nanoseconds(leaf: Any) -> bool:
    logical = leaf.logical_type
    return bool(logical.type == "TIMESTAMP" and json.loads(logical.to_json())["timeUnit"] == "nanoseconds")


def _first_bytes(location: FolderLocation, file: ListedFile, size: int) -> bytes:
    compression = next((name for end, name in COMPRESSIONS.items() if file.path.endswith(end)), None)
    with translate_store_errors(location.url(file.path)):
        if compression is None:
            content: bytes = location.file_system.cat_file(
                location.fs_path(file.path), start=0, end=min(size, file.size)
            )
            return content
        with location.file_system.open(location.fs_path(file.path), "rb", compression=compression) as stream:
            unpacked: bytes = stream.read(size)
            return unpacked


def _map_in_threads(files: Sequence[ListedFile], function: Callable[[ListedFile], H]) -> list[H]:
    # In threads, because most of the time is spent on storage.
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="penstock-file-headers") as threads:
        results: list[Any] = list(threads.map(function, files))
    return results


_LINE: Final = re.compile(r"[^\r\n]*")


def csv_header(
    text: str, *, delimiter: str, quote: str, is_complete: bool, escape: str = '"', comment: str = ""
) -> tuple[str, ...] | None:
    r"""Return the fields of the first non-empty line, split as Spark does; None if the line is incomplete.

    >>> csv_header('\ufeffid;"a;b"\n1;2', delimiter=";", quote='"', is_complete=False)
    ('id', 'a;b')
    >>> csv_header("id;na", delimiter=";", quote='"', is_complete=False) is None
    True
    >>> csv_header('"a\\";b";c\n', delimiter=";", quote='"', escape="\\", is_complete=True)
    ('a";b', 'c')
    """
    text = _without_comments(text.removeprefix("\ufeff"), comment)
    escapes = bool(quote and escape) and escape != quote
    if escapes:
        text = _with_plain_escapes(text, delimiter, quote, escape)
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=_quoting(quote),
        escapechar=escape if escapes else None,
        doublequote=escape == quote,
    )
    for header in reader:
        if not header:
            continue
        if not is_complete and lines.tell() >= len(text):
            return None
        return tuple(header)
    return () if is_complete else None


def _without_comments(text: str, comment: str) -> str:
    """Return the text from the first line that is neither empty nor a comment."""
    while comment and (text := text.lstrip("\r\n")).startswith(comment):
        text = _LINE.sub("", text, count=1)
    return text


def _with_plain_escapes(text: str, delimiter: str, quote: str, escape: str) -> str:
    """Return the text with doubled escape characters where Spark reads them literally.

    The csv module treats every escape character as one; Spark only within quotes, before a quote or itself.
    """
    mark, escaped = re.escape(quote), re.escape(escape)
    quoted = rf"(?<![^{re.escape(delimiter)}\r\n]){mark}(?:{escaped}.|[^{mark}{escaped}])*+"
    escape_pair = re.compile(rf"{escaped}([{mark}{escaped}])?")

    def double_literal_escapes(match: re.Match[str]) -> str:
        if match[1] is None:
            return escape * 2
        return escape_pair.sub(lambda pair: pair[0] if pair[1] else escape * 2, match[1])

    return re.sub(rf"({quoted})|{escaped}", double_literal_escapes, text, flags=re.DOTALL)


def _quoting(quote: str) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
