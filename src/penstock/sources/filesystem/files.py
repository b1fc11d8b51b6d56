"""`files`: what is new in a folder, read by Spark, each file once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from penstock.config import AwsCredentials, config_value
from penstock.errors import NotDuringRun
from penstock.interfaces.current import current
from penstock.interfaces.seen import digest_of
from penstock.sources.decorators import resource
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.items import digest_of_file
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.options import CsvOptions
from penstock.sources.filesystem.place import Place
from penstock.sources.filesystem.plan import batches, checked_format, is_hidden
from penstock.sources.filesystem.reading import Reading
from penstock.sources.filesystem.windows import NewestDay, Window, days_of
from penstock.sources.resource import Resource
from penstock.sources.state import resource_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.seen import Seen
    from penstock.sources.filesystem.items import Found

__source_name__ = "filesystem"
LEDGER: Final = "_files"
"""Where the state has what was read."""
_NEWEST: Final = "newest_day"


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
    place = Place.of(bucket_url, credentials, kwargs=kwargs, client_kwargs=client_kwargs)
    reading = Reading(format=checked_format(format, file_glob), csv=CsvOptions.of(options), metadata=metadata)
    new = NewFiles(place=place, glob=Glob(file_glob), days=days_of(window), per_job=files_per_job)

    def read() -> Iterator[Any]:
        yield from new.frames(reading)

    made = Resource.from_data(read, name=name, section="filesystem")
    made.change(needs=place.needs)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """The files of a place that were not read before."""

    place: Place
    glob: Glob
    days: int | None
    per_job: int

    def frames(self, reading: Reading) -> Iterator[Any]:
        """Frames of all new files. What a frame reads is remembered as it is handed over."""
        counts: Counter[str] = Counter(listed=0, known=0, hidden=0, read=0)
        seen, newest = self._seen(), NewestDay(today=datetime.now(UTC).date())
        for batch in batches(self._new(seen, counts, newest), most=self.per_job):
            left = dict.fromkeys(batch)
            for frame, read in reading.frames(self.place, batch):
                self._remember(seen, read, counts)
                for one in read:
                    del left[one]
                yield frame
            # Those without a row are read as well.
            self._remember(seen, tuple(left), counts)
        # Only now: a listing has no order, so a run that ends before may have left older days unread.
        self._keep(newest.day)
        self._tell(counts)

    def _new(self, seen: Seen, counts: Counter[str], newest: NewestDay) -> Iterator[Found]:
        for found in list_files(self.place, self.glob, self._window()):
            counts["listed"] += 1
            if is_hidden(found.path):
                counts["hidden"] += 1
                continue
            # Known ones count as well: the run that read them may not have come to its end.
            newest.meet(found.path)
            if seen.knows(self._digest(found)):
                counts["known"] += 1
            else:
                yield found

    def _remember(self, seen: Seen, read: tuple[Found, ...], counts: Counter[str]) -> None:
        for one in read:
            seen.remember(self._digest(one))
        counts["read"] += len(read)
        self._tell(counts)

    def _keep(self, newest: date | None) -> None:
        """Let the next run begin at the newest day. A state that need not change is not touched."""
        if self.days is None or newest is None:
            return
        state = resource_state()
        if newest.isoformat() > state.get(_NEWEST, {}).get(self._key, ""):
            state.setdefault(_NEWEST, {})[self._key] = newest.isoformat()

    def _window(self) -> Window | None:
        if self.days is None:
            return None
        newest = resource_state().get(_NEWEST, {}).get(self._key)
        return Window(days=self.days, newest=date.fromisoformat(newest) if newest else None)

    @property
    def _key(self) -> str:
        """What the newest day is kept by: a resource of this name may read another folder tomorrow."""
        return digest_of(self.place.root, self.glob.text).hex()

    def _digest(self, found: Found) -> bytes:
        return digest_of_file(self.place.url(found.path), found)

    def _seen(self) -> Seen:
        moment = current()
        if moment.seen is None or moment.resource_name is None:
            raise NotDuringRun(what="the files that were read before")
        return moment.seen(moment.resource_name, LEDGER)

    def _tell(self, counts: Counter[str]) -> None:
        metrics = current().metrics
        if metrics is not None:
            metrics.update({f"files_{name}": count for name, count in counts.items()})
