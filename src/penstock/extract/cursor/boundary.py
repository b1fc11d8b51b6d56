"""The rows at the last value of a cursor: which were there before this run, and which came with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.extract.cursor.buckets import Buckets
from penstock.extract.cursor.digest import as_text, from_text, is_old
from penstock.extract.cursor.plan import MOST_IN_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.extract.cursor.files import BoundaryFile


class Boundary:
    """Hashes of rows. Those of earlier runs are read from their file when a row asks for them.

    A few are held as they are, more than the state takes in the small form of `Buckets`.
    """

    def __init__(
        self, texts: Iterable[str] = (), *, file: BoundaryFile | None = None, read: Callable[[], Buckets]
    ) -> None:
        self._before = frozenset(from_text(text) for text in texts)
        self._file, self._read = file, read
        self._opened: Buckets | None = None
        self._new: set[bytes] | Buckets = set()
        self._counts = True
        self.written: BoundaryFile | None = None
        """The file that holds all of this, if one was written since the last change."""
        self.old = is_old(self._before) or (file is not None and file.old)
        """Whether what was there before are hashes of before dlt 1.29."""

    @property
    def new_old(self) -> bool:
        """In which form new hashes are kept: in that of those they stand beside."""
        return self.old and self._counts

    @property
    def has_earlier(self) -> bool:
        """Whether there is anything to know of earlier runs."""
        return bool(self._before) or self._file is not None

    def knows(self, digest: bytes) -> bool:
        """Whether an earlier run has read the row."""
        return digest in self._before or (self._file is not None and digest in self._in_file())

    def remember(self, digest: bytes) -> None:
        """Take a row of this run."""
        self.written = None
        self._new.add(digest)
        if isinstance(self._new, set) and len(self._new) > MOST_IN_STATE:
            many = Buckets(old=self.new_old)
            many.update(self._new)
            self._new = many

    def restart(self) -> None:
        """The last value has moved: what is known here is behind it."""
        if self._new:
            self._new = set()
        self._counts, self.written = False, None

    def forget(self) -> None:
        """Nothing is to be remembered."""
        self._new, self._counts = set(), False

    @property
    def in_state(self) -> int:
        """How many hashes would stand in the state."""
        return len(self._new) + (len(self._before) if self._counts else 0)

    def texts(self) -> list[str]:
        """The hashes for the state, beside those of the file."""
        return sorted(map(as_text, {*self._new, *(self._before if self._counts else ())}))

    @property
    def file(self) -> BoundaryFile | None:
        """The file that still counts."""
        return self._file if self._counts else None

    def all(self) -> Buckets:
        """All of them, to be written into a file."""
        if not self._counts and isinstance(self._new, Buckets):
            return self._new
        everything = Buckets(old=self.new_old)
        if self._counts:
            if self._file is not None:
                everything.take(self._in_file())
            everything.update(self._before)
        if isinstance(self._new, Buckets):
            everything.take(self._new)
        else:
            everything.update(self._new)
        return everything

    def _in_file(self) -> Buckets:
        if self._opened is None:
            self._opened = self._read()
        return self._opened
