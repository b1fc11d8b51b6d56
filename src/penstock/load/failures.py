"""Whether an error would come again: then a job is failed, otherwise it is tried once more."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from penstock.config import redact
from penstock.errors import DataError, InternalError, PenstockError, UsageError

_TERMINAL = (UsageError, DataError, InternalError, AssertionError, AnalysisException)


def is_terminal(error: BaseException) -> bool:
    """Errors that nobody knows may pass; what was refused for what it is, will be refused again."""
    return isinstance(error, _TERMINAL)


def told(error: BaseException) -> str:
    """An error in one text without secrets, with its kind where that is not one of ours."""
    return redact(error.message if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}")
