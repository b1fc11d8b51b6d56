"""What a resource has read before, thing by thing. It is kept with the loads that brought it."""

from __future__ import annotations

import hashlib
from typing import Final, Protocol

DIGEST_SIZE: Final = 9
"""Bytes of a digest."""


class SeenSet(Protocol):
    """Things that were read by loads that came through, by their digests.

    What is remembered counts with the package that is filled at that moment: if that is never loaded, it was
    not read.
    """

    def contains(self, digest: bytes) -> bool:
        """Whether an earlier run has read it."""

    def add(self, digest: bytes) -> None:
        """It is read now."""


def item_digest(*parts: str | int) -> bytes:
    """What a thing is known by: all facts that make it another thing when they change.

    >>> item_digest("s3://lake/a.csv", 7).hex(), len(item_digest("s3://lake/a.csv", 8)) == DIGEST_SIZE
    ('e73db9efa04342b5d6', True)
    """
    text = "\0".join(map(str, parts))
    return hashlib.shake_128(text.encode("utf-8", "surrogateescape")).digest(DIGEST_SIZE)
