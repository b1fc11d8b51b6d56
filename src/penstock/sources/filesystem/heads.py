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
from penstock.package.objects import answering
from penstock.sources.filesystem.firstline import header_in
from penstock.sources.filesystem.plan import PACKED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.sources.filesystem.items import Found
    from penstock.sources.filesystem.options import CsvOptions
    from penstock.sources.filesystem.place import Place
    from penstock.sources.filesystem.plan import Columns

H = TypeVar("H")
_READERS: Final = 32
_FIRST: Final = 1 << 16
_LONGEST: Final = 1 << 24


def headers_of(place: Place, files: Sequence[Found], options: CsvOptions) -> list[tuple[str, ...] | None]:
    """The header of each CSV file; None for one without a line."""

    def header(found: Found) -> tuple[str, ...] | None:
        if not found.size:
            return None
        asked = _FIRST
        while True:
            content = _beginning(place, found, asked)
            is_all = len(content) < asked
            text = content.decode(options.encoding, errors="replace")
            try:
                names = header_in(
                    text,
                    delimiter=options.delimiter,
                    quote=options.quote,
                    escape=options.escape,
                    comment=options.more.get("comment", ""),
                    is_all=is_all,
                )
            except csv.Error as error:
                reason = f"its first line cannot be split into fields: {error}"
                raise FileNotReadable(path=place.url(found.path), reason=reason) from error
            if names is not None:
                return names or None
            if asked >= _LONGEST:
                raise FileNotReadable(path=place.url(found.path), reason="its first line does not end")
            asked *= 16

    return _each(files, header)


def columns_of(place: Place, files: Sequence[Found]) -> list[Columns | None]:
    """The columns of each Parquet file, by its footer; None for one without a byte."""

    def columns(found: Found) -> Columns | None:
        if not found.size:
            return None
        try:
            with answering(place.url(found.path)), place.system.open(place.address(found.path)) as stream:
                file = pq.ParquetFile(stream)
                fields, leaves = file.schema_arrow, [file.schema.column(at) for at in range(len(file.schema))]
        except ValueError as error:
            raise FileNotReadable(path=place.url(found.path), reason=str(error)) from error
        rest, url = iter(leaves), place.url(found.path)
        return tuple((one.name, _kind(one, list(islice(rest, _leaves(one.type))), url=url)) for one in fields)

    return _each(files, columns)


def _leaves(kind: pa.DataType) -> int:
    """How many columns of Parquet hold a column. Names do not tell: those of flat ones may have dots."""
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if not pa.types.is_nested(kind):
        return 1
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields))


def _kind(field: pa.Field, own: Sequence[Any], *, url: str) -> str:
    """The type of a column, as a text; `own` are the columns of Parquet that hold it.

    Arrow calls two things nanoseconds: those of Parquet, which Spark refuses, and the old 96 bits, which
    Spark writes itself. Files of the one are not read together with files of the other.
    """
    if pa.types.is_nested(field.type) and any(map(_is_in_nanoseconds, own)):
        raise FileNotReadable(
            path=url,
            reason=f"the column {field.name!r} has moments in nanoseconds within it, which Spark does not "
            "read; write it with coerce_timestamps='us' and allow_truncated_timestamps=True",
        )
    is_old = any(leaf.physical_type == "INT96" for leaf in own)
    return f"int96 {field.type}" if is_old else str(field.type)


def _is_in_nanoseconds(leaf: Any) -> bool:
    kind = leaf.logical_type
    return bool(kind.type == "TIMESTAMP" and json.loads(kind.to_json())["timeUnit"] == "nanoseconds")


def _beginning(place: Place, found: Found, size: int) -> bytes:
    packed = next((kind for end, kind in PACKED.items() if found.path.endswith(end)), None)
    with answering(place.url(found.path)):
        if packed is None:
            whole: bytes = place.system.cat_file(
                place.address(found.path), start=0, end=min(size, found.size)
            )
            return whole
        with place.system.open(place.address(found.path), "rb", compression=packed) as stream:
            content: bytes = stream.read(size)
            return content


def _each(files: Sequence[Found], look: Callable[[Found], H]) -> list[H]:
    """Most of it is waiting for storage."""
    with ThreadPoolExecutor(_READERS, thread_name_prefix="penstock-file-heads") as threads:
        found: list[Any] = list(threads.map(look, files))
    return found
