"""The first line of a CSV file of somebody else: only it tells which columns stand in it."""

from __future__ import annotations

import csv
import gzip
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.package.storage import FileStorage


def header_of(store: FileStorage, key: str) -> tuple[str, ...]:
    """The names in the first line."""
    with store.open(key) as stream, gzip.GzipFile(fileobj=stream) as unpacked:
        plain = unpacked if key.endswith(".gz") else stream
        return tuple(next(csv.reader(io.TextIOWrapper(plain, encoding="utf-8", newline="")), ()))
