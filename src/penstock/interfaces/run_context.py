"""What user code may ask about the moment it runs in: the one context variable of this room.

Set by pipeline, extract and load, and copied into their threads. Read by functions that users call, never by
a room's own decisions.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentPackage:
    """The load package at hand. `document` is one dict, the same in all threads; `commit` writes it."""

    document: dict[str, Any]
    commit: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The moment: which pipeline, package, source and resource user code runs for."""

    pipeline: Any = None
    package: CurrentPackage | None = None
    source_name: str | None = None
    resource_name: str | None = None
    state: dict[str, Any] | None = None
    schema: Any = None
    source: Any = None
    resource: Any = None
    metrics: dict[str, Any] | None = None
    """The resource's own counts; one dict, the same in all threads."""
    open_seen_set: Callable[[str, str], SeenSet] | None = None
    """What a resource, by its name, has read before, under a name of its own."""
    lend_session: Callable[[Mapping[str, str]], Any] | None = None
    """Lends a session of Spark that was told this besides; it is there until the extraction is over."""
    track_session: Callable[[Any], AbstractContextManager[None]] | None = None
    """Has it seen what a thread does with a session in a block."""


_context: ContextVar[RunContext] = ContextVar("penstock_current", default=RunContext())  # noqa: B039 - a frozen value


def current_context() -> RunContext:
    """The moment of the calling thread; all fields are None outside a run.

    >>> current_context().package is None
    True
    """
    return _context.get()


def is_on_executor() -> bool:
    """Whether this is a task of Spark: what user code may ask is known on the driver only.

    >>> is_on_executor()
    False
    """
    # Looked up, not imported: who is no task has no need of Spark.
    tasks = sys.modules.get("pyspark.taskcontext")
    return tasks is not None and tasks.TaskContext.get() is not None


def update_context(**changes: Any) -> None:
    """Change some fields from here on: for a pipeline that becomes the active one."""
    _context.set(replace(_context.get(), **changes))


@contextmanager
def override_context(**changes: Any) -> Iterator[RunContext]:
    """Change some fields for the time of a block.

    >>> with override_context(resource_name="items") as moment:
    ...     current_context().resource_name
    'items'
    """
    token = _context.set(replace(_context.get(), **changes))
    try:
        yield _context.get()
    finally:
        _context.reset(token)


def context_with(**changes: Any) -> Context:
    """A copy of the calling thread's context with some fields changed, to run user code in.

    >>> context_with(resource_name="items").run(lambda: current_context().resource_name)
    'items'
    >>> current_context().resource_name is None
    True
    """
    made = copy_context()
    made.run(_context.set, replace(_context.get(), **changes))
    return made


def update_in_context(context: Context, **changes: Any) -> None:
    """Change some fields in a context that was made before.

    >>> made = context_with(resource_name="items")
    >>> update_in_context(made, source_name="shop")
    >>> made.run(lambda: (current_context().source_name, current_context().resource_name))
    ('shop', 'items')
    """
    context.run(lambda: _context.set(replace(_context.get(), **changes)))
