"""Very many hashes in little memory: eight bytes each, sorted, by their first byte."""

from __future__ import annotations

import hashlib
import struct
import sys
from array import array
from bisect import bisect_left
from typing import IO, TYPE_CHECKING, Final

from penstock.extract.cursor.digest import DIGEST_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BUCKET_COUNT: Final = 256
_ENTRY_BYTES: Final = 8
_MAGIC: Final = b"PENSTOCK\x00CURSOR\x01"
_HEADER: Final = struct.Struct(f"<{len(_MAGIC)}sB{_BUCKET_COUNT}Q")
_READ_CHUNK: Final = 1 << 20
# So many hashes of a bucket are added before it is sorted again, at least.
_SORT_THRESHOLD: Final = 1024


class CompactHashSet:
    """A set of hashes. The first byte says the bucket, the next eight are kept: nothing is lost of nine.

    Ten million take 80 MB, where a Python set takes a gigabyte. Hashes are spread evenly by nature, so a
    bucket is small, and only one at a time is sorted.
    """

    def __init__(self, *, old_format: bool = False) -> None:
        self.is_old_format = old_format
        """Whether these are hashes of before dlt 1.29, of which the first nine bytes are kept."""
        self._buckets = [array("Q") for _ in range(_BUCKET_COUNT)]
        self._sorted = [0] * _BUCKET_COUNT

    def add(self, digest: bytes) -> None:
        """Take one."""
        first = digest[0]
        bucket = self._buckets[first]
        bucket.append(int.from_bytes(digest[1:DIGEST_SIZE], "big"))
        if len(bucket) > 2 * self._sorted[first] + _SORT_THRESHOLD:
            self._sort(first)

    def update(self, digests: Iterable[bytes]) -> None:
        """Take many."""
        for digest in digests:
            self.add(digest)

    def merge(self, other: CompactHashSet) -> None:
        """Take all of another set."""
        for first, bucket in enumerate(other._buckets):
            self._buckets[first].extend(bucket)
            self._sort(first)

    def __contains__(self, digest: bytes) -> bool:
        first = digest[0]
        if self._sorted[first] != len(self._buckets[first]):
            self._sort(first)
        bucket, rest = self._buckets[first], int.from_bytes(digest[1:DIGEST_SIZE], "big")
        at = bisect_left(bucket, rest)
        return at < len(bucket) and bucket[at] == rest

    def __len__(self) -> int:
        self._sort_all()
        return sum(map(len, self._buckets))

    def __iter__(self) -> Iterator[bytes]:
        self._sort_all()
        for first, bucket in enumerate(self._buckets):
            for rest in bucket:
                yield bytes((first,)) + rest.to_bytes(_ENTRY_BYTES, "big")

    def chunks(self) -> Iterator[bytes]:
        """The content of its file: a header with the size of each bucket, then the buckets."""
        self._sort_all()
        yield _HEADER.pack(_MAGIC, self.is_old_format, *map(len, self._buckets))
        for bucket in self._buckets:
            yield _little_endian(bucket)

    def content_digest(self) -> str:
        """What the content of its file is known by."""
        found = hashlib.sha256()
        for chunk in self.chunks():
            found.update(chunk)
        return found.hexdigest()

    @staticmethod
    def read(stream: IO[bytes]) -> tuple[CompactHashSet, str]:
        """Read a file, with what its content is known by. ValueError where it is not one of these."""
        header = stream.read(_HEADER.size)
        if len(header) != _HEADER.size or not header.startswith(_MAGIC):
            raise ValueError("it is no file of hashes")
        found = hashlib.sha256(header)
        _, old, *sizes = _HEADER.unpack(header)
        read = CompactHashSet(old_format=bool(old))
        for first, size in enumerate(sizes):
            read._read_bucket(first, size, stream, found)
        if stream.read(1):
            raise ValueError("it is longer than it says")
        return read, found.hexdigest()

    def _read_bucket(self, first: int, size: int, stream: IO[bytes], content_hash: hashlib._Hash) -> None:
        left, bucket = size * _ENTRY_BYTES, self._buckets[first]
        while left:
            chunk = stream.read(min(left, _READ_CHUNK))
            if not chunk or len(chunk) % _ENTRY_BYTES:
                raise ValueError("it is shorter than it says")
            content_hash.update(chunk)
            bucket.frombytes(chunk)
            left -= len(chunk)
        if sys.byteorder == "big":
            bucket.byteswap()
        self._sorted[first] = size

    def _sort(self, first: int) -> None:
        bucket = self._buckets[first]
        kept = array("Q", sorted(set(bucket)))
        self._buckets[first], self._sorted[first] = kept, len(kept)

    def _sort_all(self) -> None:
        for first in range(_BUCKET_COUNT):
            if self._sorted[first] != len(self._buckets[first]):
                self._sort(first)


def _little_endian(bucket: array[int]) -> bytes:
    if sys.byteorder == "little":
        return bucket.tobytes()
    swapped = array("Q", bucket)
    swapped.byteswap()
    return swapped.tobytes()
