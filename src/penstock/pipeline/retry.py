"""Which failures are worth another try: a predicate for tenacity, or for a loop of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.errors import (
    DataError,
    InternalError,
    PenstockError,
    PipelineStepFailed,
    RequestRefused,
    ResourceFailed,
    UsageError,
)
from penstock.pipeline.trace import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TERMINAL: Final = (UsageError, DataError, InternalError)
_STEP_NAMES: Final = frozenset((*STEPS, "run", "sync"))
"""dlt's words for steps; nothing fails in the last two here."""


def retry_load(
    retry_on_pipeline_steps: Sequence[str] = ("load",),
) -> Callable[[BaseException], bool]:
    """A predicate that is true for an error after which the same call may do better.

    A step that failed is tried again only if it is one of `retry_on_pipeline_steps`. What will be refused
    again is not tried again: calls and settings that cannot work, data that does not fit, jobs that failed
    for good. Errors of others, of Spark and of your own code are: nobody knows. An interrupt never is.

    It is made for `tenacity.retry_if_exception`, and needs no tenacity.

    >>> is_worth_it = retry_load()
    >>> is_worth_it(ConnectionError("the storage does not answer"))
    True
    >>> is_worth_it(UsageError("there is no such destination"))
    False
    """
    steps = frozenset(retry_on_pipeline_steps)
    if unknown := sorted(steps - _STEP_NAMES):
        raise UsageError(
            f"{unknown[0]!r} is no step of a pipeline", hint=f"give a list of steps: {', '.join(STEPS)}"
        )

    def is_worth_it(error: BaseException | None) -> bool:
        match error:
            case PipelineStepFailed():
                return error.step in steps and is_worth_it(error.exception)
            case RequestRefused():
                return False
            case ResourceFailed():
                return is_worth_it(error.__cause__)
            case PenstockError():
                return not isinstance(error, _TERMINAL)
            case None:
                return True
            case _:
                # What somebody else made of an error of ours is worth as much as that one.
                inner = error.__cause__ or error.__context__
                is_ours = isinstance(inner, PenstockError)
                return isinstance(error, Exception) and (not is_ours or is_worth_it(inner))

    return is_worth_it
