"""`files`: what is new in a folder, read by Spark, each file once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials, config_value
from penstock.errors import NotDuringRun
from penstock.interfaces.run_context import current_context
from penstock.interfaces.seen_set import item_digest
from penstock.sources.decorators import resource
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.day_window import DayWindow, NewestDay, whole_days
from penstock.sources.filesystem.file_reader import SourceFileReader
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import file_digest
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.filesystem.plan import batches, is_hidden, resolve_format
from penstock.sources.resource import Resource
from penstock.sources.state import resource_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.seen_set import SeenSet
    from penstock.sources.filesystem.items import ListedFile

__source_name__ = "filesystem"
SEEN_FILES: Final = "_files"
"""Where the state has what was read."""
_NEWEST_DAY: Final = "newest_day"


@resource(section="filesystem")
def files(  # noqa: PLR0913, PLR0917 - one door for all that can be said of files
    bucket_url: str = config_value,
    credentials: AwsCredentials | Any = None,
    file_glob: str = "**",
    format: str | None = None,  # noqa: A002 - Spark's name for it
    name: str = "files",
    window: int | timedelta | None = None,
    metadata: bool = False,  # noqa: FBT001, FBT002 - as the others
    files_per_job: int = 5_000,
    kwargs: dict[str, Any] | None = None,
    client_kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Resource:
    """Read the files of a folder that no load has brought yet. Spark reads them, and lands them.

    A file is known by its path, size and time: one that was changed is another one, and is read again.
    `format` is csv, jsonl or parquet; without it the end of `file_glob` tells. `window` is how many days
    behind the newest folder that was read others are still listed, where folders are named after days.
    With `metadata` each row has `_file` and `_row`: where it stood. `options` are those of CSV files.

    >>> files("s3://raw/orders", file_glob="**/*.csv", name="orders", window=3, delimiter=";")
    <penstock.resource 'orders', write_disposition='append'>
    """
    place = FolderLocation.of(bucket_url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    reading = SourceFileReader(
        format=resolve_format(format, file_glob), csv=CsvOptions.of(options), metadata=metadata
    )
    new = NewFiles(
        location=place, glob=Glob(file_glob), window_days=whole_days(window), files_per_job=files_per_job
    )

    def read() -> Iterator[Any]:
        yield from new.frames(reading)

    made = Resource.from_data(read, name=name, section="filesystem")
    made.change(needs=place.needs)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """The files of a place that were not read before."""

    location: FolderLocation
    glob: Glob
    window_days: int | None
    files_per_job: int

    def frames(self, reader: SourceFileReader) -> Iterator[Any]:
        """Frames of all new files. What a frame reads is remembered as it is handed over."""
        counts: Counter[str] = Counter(listed=0, known=0, hidden=0, read=0)
        seen, newest = self._open_seen_set(), NewestDay(today=datetime.now(UTC).date())
        for batch in batches(self._unseen_files(seen, counts, newest), size=self.files_per_job):
            left = dict.fromkeys(batch)
            for frame, read in reader.frames(self.location, batch):
                self._mark_read(seen, read, counts)
                for one in read:
                    del left[one]
                yield frame
            # Those without a row are read as well.
            self._mark_read(seen, tuple(left), counts)
        # Only now: a listing has no order, so a run that ends before may have left older days unread.
        self._store_newest_day(newest.day)
        self._report(counts)

    def _unseen_files(
        self, seen_set: SeenSet, counts: Counter[str], newest: NewestDay
    ) -> Iterator[ListedFile]:
        for found in list_files(self.location, self.glob, self._window()):
            counts["listed"] += 1
            if is_hidden(found.path):
                counts["hidden"] += 1
                continue
            # Known ones count as well: the run that read them may not have come to its end.
            newest.observe(found.path)
            if seen_set.contains(self._digest(found)):
                counts["known"] += 1
            else:
                yield found

    def _mark_read(self, seen_set: SeenSet, batch: tuple[ListedFile, ...], counts: Counter[str]) -> None:
        for one in batch:
            seen_set.add(self._digest(one))
        counts["read"] += len(batch)
        self._report(counts)

    def _store_newest_day(self, newest: date | None) -> None:
        """Let the next run begin at the newest day. A state that need not change is not touched."""
        if self.window_days is None or newest is None:
            return
        state = resource_state()
        if newest.isoformat() > state.get(_NEWEST_DAY, {}).get(self._state_key, ""):
            state.setdefault(_NEWEST_DAY, {})[self._state_key] = newest.isoformat()

    def _window(self) -> DayWindow | None:
        if self.window_days is None:
            return None
        newest = resource_state().get(_NEWEST_DAY, {}).get(self._state_key)
        return DayWindow(days=self.window_days, newest=date.fromisoformat(newest) if newest else None)

    @property
    def _state_key(self) -> str:
        """What the newest day is kept by: a resource of this name may read another folder tomorrow."""
        return item_digest(self.location.root, self.glob.pattern).hex()

    def _digest(self, file: ListedFile) -> bytes:
        return file_digest(self.location.url(file.path), file)

    def _open_seen_set(self) -> SeenSet:
        moment = current_context()
        if moment.open_seen_set is None or moment.resource_name is None:
            raise NotDuringRun(what="the files that were read before")
        return moment.open_seen_set(moment.resource_name, SEEN_FILES)

    def _report(self, counts: Counter[str]) -> None:
        metrics = current_context().metrics
        if metrics is not None:
            metrics.update({f"files_{name}": count for name, count in counts.items()})
