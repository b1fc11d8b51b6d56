"""`files`, which reads the new files of a folder with Spark, each file once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials, config_value
from penstock.errors import NotDuringRun
from penstock.interfaces.run_context import current_context, item_digest
from penstock.sources.decorators import resource
from penstock.sources.filesystem.csv_options import CsvOptions
from penstock.sources.filesystem.day_window import DayWindow, NewestDay, whole_days
from penstock.sources.filesystem.frames import SourceFileReader
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import file_digest
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.filesystem.plan import batches, is_hidden, resolve_format
from penstock.sources.resource import Resource
from penstock.sources.state import resource_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.run_context import SeenSet
    from penstock.sources.filesystem.items import ListedFile

__source_name__ = "filesystem"
SEEN_FILES: Final = "_files"
"""The key of the files that were read, in the state."""
_NEWEST_DAY: Final = "newest_day"


@resource(section="filesystem")
def files(  # noqa: PLR0913, PLR0917 - one function for all options of files
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
    """Read the files of a folder that no load has read yet. Spark reads and writes them.

    A file is identified by its path, size and time: a changed file is read again. `format` is csv, jsonl or
    parquet; by default the ending of `file_glob`. If folders are named after days, `window` limits listing to
    so many days before the newest folder read. With `metadata` each row has its file and position in `_file`
    and `_row`. `options` are those of CSV files.

    >>> files("s3://raw/orders", file_glob="**/*.csv", name="orders", window=3, delimiter=";")
    <penstock.resource 'orders', write_disposition='append'>
    """
    location = FolderLocation.of(bucket_url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    reader = SourceFileReader(
        format=resolve_format(format, file_glob), csv=CsvOptions.of(options), metadata=metadata
    )
    new_files = NewFiles(
        location=location, glob=Glob(file_glob), window_days=whole_days(window), files_per_job=files_per_job
    )

    def read() -> Iterator[Any]:
        yield from new_files.frames(reader)

    declared = Resource.from_data(read, name=name, section="filesystem")
    declared.change(needs=location.needs)
    return declared


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """The files of a folder that were not read before."""

    location: FolderLocation
    glob: Glob
    window_days: int | None
    files_per_job: int

    def frames(self, reader: SourceFileReader) -> Iterator[Any]:
        """Yield frames of all new files. The files of a frame are marked as read when it is yielded."""
        counts: Counter[str] = Counter(listed=0, known=0, hidden=0, read=0)
        seen, newest = self._open_seen_set(), NewestDay(today=datetime.now(UTC).date())
        for batch in batches(self._unseen_files(seen, counts, newest), size=self.files_per_job):
            unread = dict.fromkeys(batch)
            for frame, read in reader.frames(self.location, batch):
                self._mark_read(seen, read, counts)
                for file in read:
                    del unread[file]
                yield frame
            # Files without rows count as read too.
            self._mark_read(seen, tuple(unread), counts)
        # Only at the end: a listing has no order, so an interrupted run may not have read older days.
        self._store_newest_day(newest.day)
        self._report(counts)

    def _unseen_files(
        self, seen_set: SeenSet, counts: Counter[str], newest: NewestDay
    ) -> Iterator[ListedFile]:
        for file in list_files(self.location, self.glob, self._window()):
            counts["listed"] += 1
            if is_hidden(file.path):
                counts["hidden"] += 1
                continue
            # Known files too: the run that read them may have been interrupted.
            newest.observe(file.path)
            if seen_set.contains(self._digest(file)):
                counts["known"] += 1
            else:
                yield file

    def _mark_read(self, seen_set: SeenSet, batch: tuple[ListedFile, ...], counts: Counter[str]) -> None:
        for file in batch:
            seen_set.add(self._digest(file))
        counts["read"] += len(batch)
        self._report(counts)

    def _store_newest_day(self, newest: date | None) -> None:
        """Store the newest day for the window of the next run; leave an unchanged state untouched."""
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
        """The key of the newest day: a resource of this name may later read another folder."""
        return item_digest(self.location.root, self.glob.pattern).hex()

    def _digest(self, file: ListedFile) -> bytes:
        return file_digest(self.location.url(file.path), file)

    def _open_seen_set(self) -> SeenSet:
        context = current_context()
        if context.open_seen_set is None or context.resource_name is None:
            raise NotDuringRun(what="the files that were read before")
        return context.open_seen_set(context.resource_name, SEEN_FILES)

    def _report(self, counts: Counter[str]) -> None:
        metrics = current_context().metrics
        if metrics is not None:
            metrics.update({f"files_{name}": count for name, count in counts.items()})
