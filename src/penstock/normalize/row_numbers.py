"""Numbers of extracted rows: they order the rows of a table, whichever files a machine reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypedDict

from penstock.schema.origin import json_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.schema.origin import ColumnOrigin

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


class ExampleValue(TypedDict):
    """The place of a value in the extracted rows; both numbers begin at 1."""

    file: int
    row: int
    path: str


def example_place(origin: ColumnOrigin) -> ExampleValue | None:
    """Return the place of a value that a column or its type comes from; None if no row was read for it."""
    if origin.position is None or origin.path is None:
        return None
    file, row = file_and_row(origin.position[0])
    return {"file": file + 1, "row": row + 1, "path": json_path(origin.path, origin.position[1:])}
