"""A predicate for errors that are worth a retry, for tenacity or a loop of the user."""

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
_STEP_NAMES: Final = frozenset((*STEPS, "sync"))
"""The names of steps in dlt; here no error has the last one."""


def retry_load(
    retry_on_pipeline_steps: Sequence[str] = ("load",),
) -> Callable[[BaseException], bool]:
    """Return a predicate that is true for errors after which a retry may succeed.

    A failed step is retried only if it is one of `retry_on_pipeline_steps`. Not retried: invalid calls and
    settings, data that does not fit, jobs that failed for good, and interrupts. Errors of other libraries, of
    Spark and of user code are retried.

    The predicate fits `tenacity.retry_if_exception`, and does not need tenacity.

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
                # An error that another library raised for one of penstock is judged by the latter.
                cause = error.__cause__ or error.__context__
                is_wrapper = isinstance(cause, PenstockError)
                return isinstance(error, Exception) and (not is_wrapper or is_worth_it(cause))

    return is_worth_it
