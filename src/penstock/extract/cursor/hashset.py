"""A set of many hashes in little memory: eight bytes each, sorted, in one bucket per first byte."""

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
# Minimum of hashes added to a bucket before it is sorted again.
_SORT_THRESHOLD: Final = 1024


class CompactHashSet:
    """A set of nine-byte hashes: the first byte selects the bucket, which stores the other eight.

    Ten million hashes take 80 MB, a Python set of them a gigabyte. Hashes are distributed evenly, so buckets
    are small, and are sorted one at a time.
    """

    def __init__(self, *, old_format: bool = False) -> None:
        self.is_old_format = old_format
        """Whether these are hashes of dlt before 1.29, cut to their first nine bytes."""
        self._buckets = [array("Q") for _ in range(_BUCKET_COUNT)]
        self._sorted = [0] * _BUCKET_COUNT

    def add(self, digest: bytes) -> None:
        """Add a hash."""
        first = digest[0]
        bucket = self._buckets[first]
        bucket.append(int.from_bytes(digest[1:DIGEST_SIZE], "big"))
        if len(bucket) > 2 * self._sorted[first] + _SORT_THRESHOLD:
            self._sort(first)

    def update(self, digests: Iterable[bytes]) -> None:
        """Add many hashes."""
        for digest in digests:
            self.add(digest)

    def merge(self, other: CompactHashSet) -> None:
        """Add all hashes of another set."""
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
        """Yield the content of a file: a header with the size of each bucket, then the buckets."""
        self._sort_all()
        yield _HEADER.pack(_MAGIC, self.is_old_format, *map(len, self._buckets))
        for bucket in self._buckets:
            yield _little_endian(bucket)

    def content_digest(self) -> str:
        """Return the SHA-256 of the content of a file."""
        content_hash = hashlib.sha256()
        for chunk in self.chunks():
            content_hash.update(chunk)
        return content_hash.hexdigest()

    @staticmethod
    def read(stream: IO[bytes]) -> tuple[CompactHashSet, str]:
        """Read a file; return the set and the SHA-256 of the content. Raise ValueError for any other file."""
        header = stream.read(_HEADER.size)
        if len(header) != _HEADER.size or not header.startswith(_MAGIC):
            raise ValueError("it is no file of hashes")
        content_hash = hashlib.sha256(header)
        _, old, *sizes = _HEADER.unpack(header)
        hashes = CompactHashSet(old_format=bool(old))
        for first, size in enumerate(sizes):
            hashes._read_bucket(first, size, stream, content_hash)
        if stream.read(1):
            raise ValueError("it is longer than its header states")
        return hashes, content_hash.hexdigest()

    def _read_bucket(self, first: int, size: int, stream: IO[bytes], content_hash: hashlib._Hash) -> None:
        remaining, bucket = size * _ENTRY_BYTES, self._buckets[first]
        while remaining:
            chunk = stream.read(min(remaining, _READ_CHUNK))
            if not chunk or len(chunk) % _ENTRY_BYTES:
                raise ValueError("it is shorter than its header states")
            content_hash.update(chunk)
            bucket.frombytes(chunk)
            remaining -= len(chunk)
        if sys.byteorder == "big":
            bucket.byteswap()
        self._sorted[first] = size

    def _sort(self, first: int) -> None:
        distinct = array("Q", sorted(set(self._buckets[first])))
        self._buckets[first], self._sorted[first] = distinct, len(distinct)

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
