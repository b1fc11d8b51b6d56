"""The first line of a CSV file of somebody else: only it tells which columns stand in it."""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.package.storage import FileStorage


def read_csv_header(store: FileStorage, key: str) -> tuple[str, ...]:
    """The names in the first line."""
    with store.open(key) as stream:
        if key.endswith(".gz"):
            with gzip.GzipFile(fileobj=stream) as unpacked:
                line = unpacked.readline()
        else:
            line = stream.readline()
    return tuple(next(csv.reader([line.decode("utf-8-sig")]), ()))
