"""Whether an error would come again: then a job is failed, otherwise it is tried once more."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from penstock.config import redact
from penstock.errors import DataError, InternalError, PenstockError, UsageError
from penstock.spark.faults import storage_fault

_TERMINAL = (UsageError, DataError, InternalError, AssertionError, AnalysisException)


def is_terminal(error: BaseException) -> bool:
    """Errors that nobody knows may pass; what was refused for what it is, will be refused again."""
    return isinstance(_of_ours(error), _TERMINAL)


def told(error: BaseException) -> str:
    """An error in one text without secrets, with its kind where that is not one of ours."""
    ours = _of_ours(error)
    return redact(ours.message if isinstance(ours, PenstockError) else f"{type(error).__name__}: {error}")


def _of_ours(error: BaseException) -> BaseException:
    """An error of Spark that tells of a store is ours, in fewer words."""
    return error if isinstance(error, PenstockError) else storage_fault(error) or error
