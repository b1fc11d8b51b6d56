"""The rows at the last value of a cursor: hashes from earlier runs and from this run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.extract.cursor.digest import digest_from_text, digest_to_text, has_old_digests
from penstock.extract.cursor.hashset import CompactHashSet
from penstock.extract.cursor.plan import MAX_HASHES_PER_CURSOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.extract.cursor.boundary_files import BoundaryFile


class Boundary:
    """Hashes of rows. The file of earlier runs is read at the first lookup.

    New hashes are a Python set up to the limit of the state, and a `CompactHashSet` beyond it.
    """

    def __init__(
        self,
        state_texts: Iterable[str] = (),
        *,
        file: BoundaryFile | None = None,
        read: Callable[[], CompactHashSet],
    ) -> None:
        self._state_digests = frozenset(digest_from_text(text) for text in state_texts)
        self._file, self._read = file, read
        self._file_digests: CompactHashSet | None = None
        self._new_digests: set[bytes] | CompactHashSet = set()
        self._includes_earlier = True
        self.written_file: BoundaryFile | None = None
        """The file with all of these hashes, if it was written since the last change."""
        self.has_old_format = has_old_digests(self._state_digests) or (file is not None and file.old)
        """Whether the hashes of earlier runs have the format of dlt before 1.29."""

    @property
    def writes_old_format(self) -> bool:
        """Whether new hashes are stored in the old format: the one of the hashes beside them."""
        return self.has_old_format and self._includes_earlier

    @property
    def has_earlier(self) -> bool:
        """Whether earlier runs left hashes."""
        return bool(self._state_digests) or self._file is not None

    def earlier_digests(self) -> Iterator[bytes]:
        """Yield the hashes of earlier runs."""
        yield from self._state_digests
        if self._file is not None:
            yield from self._read_file_digests()

    def contains_earlier(self, digest: bytes) -> bool:
        """Return whether an earlier run has read the row."""
        return digest in self._state_digests or (
            self._file is not None and digest in self._read_file_digests()
        )

    def add(self, digest: bytes) -> None:
        """Add a row of this run."""
        self.written_file = None
        self._new_digests.add(digest)
        if isinstance(self._new_digests, set) and len(self._new_digests) > MAX_HASHES_PER_CURSOR:
            compact = CompactHashSet(old_format=self.writes_old_format)
            compact.update(self._new_digests)
            self._new_digests = compact

    def restart(self) -> None:
        """Drop all hashes: the last value has advanced past them."""
        if self._new_digests:
            self._new_digests = set()
        self._includes_earlier, self.written_file = False, None

    def clear(self) -> None:
        """Drop all hashes, and store none."""
        self._new_digests, self._includes_earlier = set(), False

    @property
    def state_count(self) -> int:
        """How many hashes the state would hold."""
        return len(self._new_digests) + (len(self._state_digests) if self._includes_earlier else 0)

    def state_texts(self) -> list[str]:
        """Return the hashes for the state: all but those in the file."""
        earlier = self._state_digests if self._includes_earlier else ()
        return sorted(map(digest_to_text, {*self._new_digests, *earlier}))

    @property
    def file(self) -> BoundaryFile | None:
        """The file of earlier runs, while its hashes belong to the last value."""
        return self._file if self._includes_earlier else None

    def all_digests(self) -> CompactHashSet:
        """Return all hashes, to be written to a file."""
        if not self._includes_earlier and isinstance(self._new_digests, CompactHashSet):
            return self._new_digests
        digests = CompactHashSet(old_format=self.writes_old_format)
        if self._includes_earlier:
            if self._file is not None:
                digests.merge(self._read_file_digests())
            digests.update(self._state_digests)
        if isinstance(self._new_digests, CompactHashSet):
            digests.merge(self._new_digests)
        else:
            digests.update(self._new_digests)
        return digests

    def _read_file_digests(self) -> CompactHashSet:
        if self._file_digests is None:
            self._file_digests = self._read()
        return self._file_digests
