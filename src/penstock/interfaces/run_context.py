"""The context of a run for user code: its context variable, and the set of seen items.

Set by pipeline, extract and load, and copied into their threads. Other threads that have set nothing see the
pipeline that was activated last. Read by public functions, never by internal decisions.
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

    from penstock.interfaces.deletions import LoadedTable


DIGEST_SIZE: Final = 9
"""Bytes of a digest."""


class SeenSet(Protocol):
    """Items that committed loads have read, by their digests.

    An item that is added now counts once the current package is loaded; if it never is, the item was not
    read.
    """

    def contains(self, digest: bytes) -> bool:
        """Return whether an earlier run has read the item."""

    def add(self, digest: bytes) -> None:
        """Add an item."""


def item_digest(*parts: str | int) -> bytes:
    """Return the key of an item: all facts whose change makes it another item.

    >>> item_digest("s3://lake/a.csv", 7).hex(), len(item_digest("s3://lake/a.csv", 8)) == DIGEST_SIZE
    ('e73db9efa04342b5d6', True)
    """
    text = "\0".join(map(str, parts))
    return hashlib.shake_128(text.encode("utf-8", "surrogateescape")).digest(DIGEST_SIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentPackage:
    """The current load package. `document` is one dict, shared by all threads; `commit` writes it."""

    document: dict[str, Any]
    commit: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The pipeline, package, source and resource that user code runs for."""

    pipeline: Any = None
    package: CurrentPackage | None = None
    source_name: str | None = None
    resource_name: str | None = None
    state: dict[str, Any] | None = None
    schema: Any = None
    source: Any = None
    resource: Any = None
    metrics: dict[str, Any] | None = None
    """The resource's own counters; one dict, shared by all threads."""
    open_seen_set: Callable[[str, str], SeenSet] | None = None
    """Returns the seen items of a resource, by the name of the resource and of the set."""
    lend_session: Callable[[Mapping[str, str]], Any] | None = None
    """Lends a Spark session with additional settings until the end of the extraction."""
    track_session: Callable[[Any], AbstractContextManager[None]] | None = None
    """Tracks the work of a thread in a session within a block."""
    read_loaded: Callable[[str, Any], LoadedTable | None] | None = None
    """Returns the loaded table of a name, read in a session; None if there is none, or it is refreshed."""


_context: ContextVar[RunContext | None] = ContextVar("penstock_current", default=None)


class _ProcessContext:
    """The context of threads that have set none."""

    context = RunContext()


def current_context() -> RunContext:
    """Return the context of the calling thread; all fields but `pipeline` are None outside of a run.

    >>> current_context().package is None
    True
    """
    return _context.get() or _ProcessContext.context


def is_on_executor() -> bool:
    """Return whether this is a Spark task, where the context is not available.

    >>> is_on_executor()
    False
    """
    # Looked up, not imported: only a task has these modules loaded.
    tasks = sys.modules.get("pyspark.taskcontext")
    return tasks is not None and tasks.TaskContext.get() is not None


def activate_in_process(pipeline: Any) -> None:
    """Set the pipeline of this thread, and of those that have set nothing; None for none."""
    _context.set(replace(current_context(), pipeline=pipeline))
    _ProcessContext.context = RunContext(pipeline=pipeline)


@contextmanager
def override_context(**changes: Any) -> Iterator[RunContext]:
    """Change fields within a block.

    >>> with override_context(resource_name="items") as moment:
    ...     current_context().resource_name
    'items'
    """
    token = _context.set(replace(current_context(), **changes))
    try:
        yield current_context()
    finally:
        _context.reset(token)


def context_with(**changes: Any) -> Context:
    """Return a copy of the calling thread's context with changed fields, to run user code in.

    >>> context_with(resource_name="items").run(lambda: current_context().resource_name)
    'items'
    >>> current_context().resource_name is None
    True
    """
    context = copy_context()
    context.run(_context.set, replace(current_context(), **changes))
    return context


def update_in_context(context: Context, **changes: Any) -> None:
    """Change fields of an existing context.

    >>> made = context_with(resource_name="items")
    >>> update_in_context(made, source_name="shop")
    >>> made.run(lambda: (current_context().source_name, current_context().resource_name))
    ('shop', 'items')
    """
    context.run(lambda: _context.set(replace(current_context(), **changes)))
