"""The heads of files, read by the driver, several at a time: headers of CSV, columns of Parquet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow.parquet as pq

from penstock.errors import FileNotReadable
from penstock.package.objects import answering
from penstock.sources.filesystem.plan import PACKED, header_in

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
            names = header_in(
                text,
                delimiter=options.delimiter,
                quote=options.quote,
                comment=options.more.get("comment", ""),
                is_all=is_all,
            )
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
                schema = pq.read_schema(stream)
        except ValueError as error:
            raise FileNotReadable(path=place.url(found.path), reason=str(error)) from error
        return tuple((one.name, str(one.type)) for one in schema)

    return _each(files, columns)


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
