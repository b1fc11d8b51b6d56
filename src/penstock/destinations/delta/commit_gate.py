"""Keeps commits by reference apart from those of Spark, to the same table and in the same process.

Delta's log stores for disks and for S3 order the commits of one JVM only: Spark looks whether a version
exists, and then writes it. In between no other writer of this process may commit that version.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommitGate:
    """For each table the statements of Spark that may commit, or one commit by reference.

    >>> gate = CommitGate()
    >>> with gate.statement("/lake/items"), gate.reference("/lake/items") as is_open:
    ...     is_open
    False
    """

    def __init__(self) -> None:
        self._statements: Counter[str] = Counter()
        self._references: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def statement(self, table: str) -> Iterator[None]:
        """Announce a statement of Spark; it begins after a commit by reference, which takes milliseconds."""
        with self._changed:
            self._changed.wait_for(lambda: table not in self._references)
            self._statements[table] += 1
        try:
            yield
        finally:
            with self._changed:
                self._statements[table] -= 1
                if not self._statements[table]:
                    del self._statements[table]

    @contextmanager
    def reference(self, table: str) -> Iterator[bool]:
        """Begin a commit by reference after others; False if Spark may be committing: there is no wait."""
        with self._changed:
            self._changed.wait_for(lambda: table not in self._references)
            is_open = table not in self._statements
            if is_open:
                self._references.add(table)
        try:
            yield is_open
        finally:
            if is_open:
                with self._changed:
                    self._references.discard(table)
                    self._changed.notify_all()


COMMIT_GATE: Final = CommitGate()
"""The gate of this process; tables are known by their addresses."""
