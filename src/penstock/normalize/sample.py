"""The first rows of part files, read by the driver: a few megabytes at most, and no Spark job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.normalize.profile import RowProfile, profile_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.package import FileStorage

MAX_ROWS: Final = 5_000
MAX_BYTES: Final = 16_000_000
MAX_FILES: Final = 16
_BATCH_SIZE: Final = 256
_PARQUET: Final = ".parquet"
_NUMBER: Final = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was learned from the first rows."""

    profile: RowProfile
    is_complete: bool
    """Whether these were all rows."""


def read_sample(store: FileStorage, folders: Sequence[str], *, rows: int) -> Sample:
    """Look at the first rows of the files in these folders: all rows of a small table.

    Of many files some are read, the first and others spread over the rest.
    """
    files = [
        f"{folder}/{name}"
        for folder in _evenly_spaced(folders)
        for name in store.names(folder)
        if name.endswith(_PARQUET)
    ]
    chosen = _evenly_spaced(files)
    share = MAX_ROWS if rows <= MAX_ROWS else max(MAX_ROWS // max(len(chosen), 1), 1)
    learned = RowProfile()
    for name in chosen:
        texts = _read_texts(store, name, rows=share, size=MAX_BYTES // len(chosen))
        learned = learned.merged_with(profile_rows(texts, start=row_number(name, 0, folders)))
    return Sample(profile=learned, is_complete=learned.rows == rows)


def row_number(file: str, position: int, folders: Sequence[str]) -> int:
    """The number of a row that is known by its file: rows are numbered folder by folder, file by file.

    >>> row_number("data/b/part-00002.parquet", 7, ["data/a", "data/b"]) == (((1 << 24) + 2) << 40) + 7
    True
    """
    above, _, name = file.rpartition("/")
    folder = next((index for index, known in enumerate(folders) if above.endswith(known)), len(folders))
    found = _NUMBER.search(name)
    return (((folder << 24) + int(found[0] if found else 0) % (1 << 24)) << 40) + position


def _evenly_spaced(names: Sequence[str]) -> list[str]:
    if len(names) <= MAX_FILES:
        return list(names)
    step = len(names) / MAX_FILES
    return [names[int(step * index)] for index in range(MAX_FILES)]


def _read_texts(store: FileStorage, name: str, *, rows: int, size: int) -> Iterator[bytes]:
    with store.open(name) as stream:
        for batch in pq.ParquetFile(stream).iter_batches(batch_size=_BATCH_SIZE, columns=["row"]):
            # As bytes: what is no UTF-8 is no JSON either, and no reason to stop.
            for text in batch.column(0).cast(pa.binary()):
                if not rows or size <= 0:
                    return
                found = text.as_py()
                yield found
                rows, size = rows - 1, size - len(found)
