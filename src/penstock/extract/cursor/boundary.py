"""The rows at the last value of a cursor: which were there before this run, and which came with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.extract.cursor.digest import digest_from_text, digest_to_text, has_old_digests
from penstock.extract.cursor.hashset import CompactHashSet
from penstock.extract.cursor.plan import MAX_HASHES_PER_CURSOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.extract.cursor.boundary_files import BoundaryFile


class Boundary:
    """Hashes of rows. Those of earlier runs are read from their file when a row asks for them.

    A few are held as they are, more than the state takes in the small form of `Buckets`.
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
        """The file that holds all of this, if one was written since the last change."""
        self.has_old_format = has_old_digests(self._state_digests) or (file is not None and file.old)
        """Whether what was there before are hashes of before dlt 1.29."""

    @property
    def writes_old_format(self) -> bool:
        """In which form new hashes are kept: in that of those they stand beside."""
        return self.has_old_format and self._includes_earlier

    @property
    def has_earlier(self) -> bool:
        """Whether there is anything to know of earlier runs."""
        return bool(self._state_digests) or self._file is not None

    def earlier_digests(self) -> Iterator[bytes]:
        """All that earlier runs have read."""
        yield from self._state_digests
        if self._file is not None:
            yield from self._read_file_digests()

    def knows(self, digest: bytes) -> bool:
        """Whether an earlier run has read the row."""
        return digest in self._state_digests or (
            self._file is not None and digest in self._read_file_digests()
        )

    def remember(self, digest: bytes) -> None:
        """Take a row of this run."""
        self.written_file = None
        self._new_digests.add(digest)
        if isinstance(self._new_digests, set) and len(self._new_digests) > MAX_HASHES_PER_CURSOR:
            many = CompactHashSet(old_format=self.writes_old_format)
            many.update(self._new_digests)
            self._new_digests = many

    def restart(self) -> None:
        """The last value has moved: what is known here is behind it."""
        if self._new_digests:
            self._new_digests = set()
        self._includes_earlier, self.written_file = False, None

    def forget(self) -> None:
        """Nothing is to be remembered."""
        self._new_digests, self._includes_earlier = set(), False

    @property
    def state_count(self) -> int:
        """How many hashes would stand in the state."""
        return len(self._new_digests) + (len(self._state_digests) if self._includes_earlier else 0)

    def state_texts(self) -> list[str]:
        """The hashes for the state, beside those of the file."""
        return sorted(
            map(
                digest_to_text, {*self._new_digests, *(self._state_digests if self._includes_earlier else ())}
            )
        )

    @property
    def file(self) -> BoundaryFile | None:
        """The file that still counts."""
        return self._file if self._includes_earlier else None

    def all_digests(self) -> CompactHashSet:
        """All of them, to be written into a file."""
        if not self._includes_earlier and isinstance(self._new_digests, CompactHashSet):
            return self._new_digests
        everything = CompactHashSet(old_format=self.writes_old_format)
        if self._includes_earlier:
            if self._file is not None:
                everything.merge(self._read_file_digests())
            everything.update(self._state_digests)
        if isinstance(self._new_digests, CompactHashSet):
            everything.merge(self._new_digests)
        else:
            everything.update(self._new_digests)
        return everything

    def _read_file_digests(self) -> CompactHashSet:
        if self._file_digests is None:
            self._file_digests = self._read()
        return self._file_digests
