"""The cost of a run without new files: files listed and looked up, on a disk or in a bucket.

`uv run python -m benchmarks.files FOLDER_OR_S3_URL [count]` writes this number of files into one folder
and into one folder a day, and lists both: all of them, and with a window of three
days. Credentials come from the environment.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.config import AwsCredentials
from penstock.extract.cursor.cursors import Cursors
from penstock.sources.filesystem.day_window import DayWindow
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import file_digest
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from penstock.interfaces.run_context import SeenSet

DAYS: Final = 1_000
NEWEST: Final = date(2026, 11, 17)
MANY: Final = 10_000_000


def write(place: FolderLocation, names: list[str]) -> None:
    """Write files of one byte each."""
    if place.is_local:
        for name in names:
            at = Path(place.fs_path(name))
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(b"1")
        return
    with ThreadPoolExecutor(64) as threads:
        list(threads.map(lambda name: place.file_system.pipe_file(place.fs_path(name), b"1"), names))


def daily(count: int) -> list[str]:
    """Return names in one folder for each day."""
    days = [(NEWEST - timedelta(days=day)).strftime("%Y/%m/%d") for day in range(DAYS)]
    return [f"{days[number % DAYS]}/{number}.csv" for number in range(count)]


def all_read(place: FolderLocation) -> SeenSet:
    """Return the state after a run that has read all files."""
    state: dict[str, object] = {}
    cursors = Cursors(state, source="bench")
    for result in list_files(place, Glob("**/*.csv")):
        cursors.seen_items("files", "_files").add(file_digest(place.url(result.path), result))
    cursors.write_state()
    return Cursors(state, source="bench").seen_items("files", "_files")


def measure(what: str, place: FolderLocation, seen: SeenSet, window: DayWindow | None = None) -> None:
    """List, look up, print."""
    started = time.monotonic()
    existing = listed = 0
    for result in list_files(place, Glob("**/*.csv"), window):
        listed += 1
        existing += seen.contains(file_digest(place.url(result.path), result))
    seconds = time.monotonic() - started
    print(f"{what}: {listed:,} files listed, {existing:,} known, {seconds:.2f} s", end="")
    print(f", {seconds / listed * MANY / 60:.1f} minutes for {MANY:,}" if window is None else "")


def main(root: str, count: int = 100_000) -> None:
    """Measure both layouts."""
    endpoint = os.environ.get("PENSTOCK_TEST_S3_ENDPOINT")
    keys = (
        AwsCredentials(
            aws_access_key_id=os.environ["PENSTOCK_TEST_S3_KEY"],
            aws_secret_access_key=os.environ["PENSTOCK_TEST_S3_SECRET"],
            endpoint_url=endpoint,
        )
        if endpoint and root.startswith("s3://")
        else None
    )
    for layout, names in (("flat", [f"{item}.csv" for item in range(count)]), ("daily", daily(count))):
        place = FolderLocation.of(f"{root}/{layout}", keys)
        started = time.monotonic()
        write(place, names)
        print(f"{layout}: {count:,} files written in {time.monotonic() - started:.0f} s")
        seen = all_read(place)
        measure(f"{layout}, all", place, seen)
        if layout == "daily":
            measure("daily, window of 3 days", place, seen, DayWindow(days=3, newest=NEWEST))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
