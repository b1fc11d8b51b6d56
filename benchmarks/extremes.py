"""Rows of unusual shapes: their tables, the seconds, and the memory of the driver.

    uv run python -m benchmarks.extremes [--only NAME ...]

Each case is extracted, normalized and written as Parquet in one session, `local[2]`. Memory is the peak of
the driver's Python and its JVM during the case; in local mode the JVM is the executor too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.memory_watch import measured
from benchmarks.normalize import filled, session, tables_of
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def main() -> int:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=sorted(CASES))
    options = parser.parse_args()
    spark = session()
    for name in options.only or CASES:
        with tempfile.TemporaryDirectory(prefix="penstock-extremes-") as folder, measured() as result:
            package = filled(Path(folder), CASES[name](), rows_in_file=_FILES.get(name))
            started = time.monotonic()
            normalized, written = tables_of(package, Schema("bench"), spark, Path(folder) / "out")
            seconds = time.monotonic() - started
        print(
            f"{name}: {seconds:.1f} s, driver {result.python:.0f} MiB of Python, {result.jvm:.0f} MiB of JVM;"
            f" {len(written)} tables,"
            f" {max(len(table.columns) for table in normalized.schema.tables.values())} columns at most"
        )
        print("\n".join(f"    {line}" for line in str(normalized.report).splitlines()[:8]), flush=True)
    return 0


def many_keys() -> Iterator[dict[str, Any]]:
    """Objects whose keys are data: 10,000 keys, in 200 rows."""
    for number in range(200):
        yield {"id": number, "by_user": {f"user{key}": {"n": key, "at": "x"} for key in range(10_000)}}


def many_columns() -> Iterator[dict[str, Any]]:
    """10,000 keys side by side at the top of a row."""
    for number in range(200):
        yield {f"key{key}": number for key in range(10_000)}


def many_children() -> Iterator[dict[str, Any]]:
    """500 lists in a row."""
    for number in range(6_400):
        yield {"id": number, **{f"list{item}": [{"n": number, "t": "text"}] for item in range(500)}}


def one_large_document() -> Iterator[dict[str, Any]]:
    """100 MB in one row, among small ones."""
    yield {"id": 0, "lines": [{"n": 1, "t": "text"}]}
    yield {"id": 1, "lines": [{"n": number, "t": "x" * 80} for number in range(1_000_000)]}
    yield {"id": 2, "lines": []}


def one_long_text() -> Iterator[dict[str, Any]]:
    """25 MB in one text."""
    yield {"id": 0, "text": "short"}
    yield {"id": 1, "text": "x" * 25_000_000}


def nested(levels: int) -> bytes:
    """Objects in objects, as JSON: extraction would quarantine the deepest ones itself."""
    return b'{"id":%d,"a":' % levels + b'{"d":' * levels + b"1" + b"}" * levels + b"}"


def deep() -> Iterator[dict[str, Any] | bytes]:
    """Objects in objects, 900 levels and 1,100 levels deep, between ordinary rows."""
    yield {"id": 0, "a": {"b": 1}}
    yield nested(900)
    yield nested(1_100)
    yield {"id": 3, "a": {"b": 2}}


def optional_keys() -> Iterator[dict[str, Any]]:
    """100,000 rows, no two with the same of 40 optional keys, and six fractions each."""
    for number in range(100_000):
        mask = number * 2_654_435_761 % 2**40
        row: dict[str, Any] = {f"o{key}": f"v{key}" for key in range(40) if mask >> key & 1}
        yield {"id": number, **row, **{f"f{item}": number / (item + 7) for item in range(6)}}


CASES: dict[str, Callable[[], Iterable[dict[str, Any] | bytes]]] = {
    "10,000 sibling keys": many_keys,
    "10,000 columns": many_columns,
    "500 child tables over 64 files": many_children,
    "a document of 100 MB": one_large_document,
    "a text of 25 MB": one_long_text,
    "nesting of 900 and of 1,100": deep,
    "40 optional keys and six fractions": optional_keys,
}
_FILES = {"500 child tables over 64 files": 100}


if __name__ == "__main__":
    sys.exit(main())
