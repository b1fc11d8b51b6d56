"""Numbers of extracted rows: they order the rows of a table, whichever files a machine reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER: Final = re.compile(r"[0-9]+")
_FILE_BITS: Final = 24
_ROW_BITS: Final = 40


def row_number(file: str, position: int, folders: Sequence[str]) -> int:
    """Return the number of a row, given its file and position: rows count folder by folder, file by file.

    >>> row_number("data/b/part-00002.parquet", 7, ["data/a", "data/b"]) == (((1 << 24) + 2) << 40) + 7
    True
    """
    parent, _, name = file.rpartition("/")
    folder = next((index for index, path in enumerate(folders) if parent.endswith(path)), len(folders))
    digits = _NUMBER.search(name)
    return (((folder << _FILE_BITS) + int(digits[0] if digits else 0) % (1 << 24)) << _ROW_BITS) + position


def file_and_row(number: int) -> tuple[int, int]:
    """Return the number of the file and the position in it that `row_number` was computed from.

    >>> file_and_row(row_number("data/a/part-00002.parquet", 7, ["data/a"]))
    (2, 7)
    """
    file, row = divmod(number, 1 << _ROW_BITS)
    return file % (1 << _FILE_BITS), row
