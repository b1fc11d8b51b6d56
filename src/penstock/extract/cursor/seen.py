"""What a resource has read before stands in the state like the boundary of a cursor, and in its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.extract.cursor.boundary import Boundary


class SeenItems:
    """The things of one resource, while it is read."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.has_changed = False

    def contains(self, digest: bytes) -> bool:
        """Whether an earlier run has read it."""
        return self.boundary.knows(digest)

    def add(self, digest: bytes) -> None:
        """It is read now."""
        self.has_changed = True
        self.boundary.remember(digest)
