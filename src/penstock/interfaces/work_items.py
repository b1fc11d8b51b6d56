"""Work items: a resource split into parts, and the rate limit of its calls."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

_RATE_PATTERN: Final = re.compile(r"\s*([1-9][0-9]{0,8})\s*/\s*([smh])\s*")
_UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A maximum number of calls per interval, over all processes."""

    calls: int
    seconds: int

    @staticmethod
    def parse(text: str) -> RateLimit:
        """Parse a rate limit of users.

        >>> RateLimit.parse("50/s"), RateLimit.parse("1000/h")
        (RateLimit(calls=50, seconds=1), RateLimit(calls=1000, seconds=3600))
        """
        match = _RATE_PATTERN.fullmatch(str(text))
        if match is None:
            raise UsageError(
                f"{text!r} is not a valid rate limit",
                hint='write a number of calls and a unit: "50/s", "100/m" or "5000/h"',
            )
        return RateLimit(int(match[1]), _UNIT_SECONDS[match[2]])


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFunction:
    """A user function and all arguments but the first, which is the item."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkItemSpec:
    """The work items of a stream; its `open` is called with each."""

    items: Any
    """The declared items: an iterable, a function that returns one, or a Spark DataFrame."""
    resolve_function: Callable[[], ItemFunction]
    """Returns the bound function, to call it on executors; resolves settings."""
    rate: RateLimit | None = None
    split: Callable[[Any], Iterable[Any]] | None = None
    """For a transformer: creates work items from the items of its parent, instead of `items`."""
    paces_itself: bool = False
    """Whether the function has the argument `pace`, and calls it for everything that the rate counts."""
    modules: tuple[ModuleType, ...] = ()
    """Modules of penstock that are sent with the function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """A context that tasks on executors enter; it is sent by value, with these modules of penstock."""

    enter: Callable[[Sequence[str]], AbstractContextManager[None]]
    """Returns the context, from the secrets of the task."""
    modules: tuple[ModuleType, ...] = ()


class _ProcessTaskContext:
    """The context that tasks of this process enter."""

    context: TaskContext | None = None


def task_context() -> TaskContext | None:
    """Return the context that tasks on executors enter now.

    >>> task_context() is None
    True
    """
    return _ProcessTaskContext.context


@contextmanager
def entered_by_tasks(context: TaskContext) -> Iterator[None]:
    """Let all tasks that are sent to executors within a block enter a context."""
    previous, _ProcessTaskContext.context = _ProcessTaskContext.context, context
    try:
        yield
    finally:
        _ProcessTaskContext.context = previous
