"""Whether an error would come again: then a job is failed, otherwise it is tried once more."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from penstock.config import redact
from penstock.errors import DataError, InternalError, PenstockError, UsageError
from penstock.spark.storage_errors import as_storage_error

_TERMINAL = (UsageError, DataError, InternalError, AssertionError, AnalysisException)


def is_terminal(error: BaseException) -> bool:
    """Errors that nobody knows may pass; what was refused for what it is, will be refused again."""
    return isinstance(_translated_error(error), _TERMINAL)


def describe_error(error: BaseException) -> str:
    """An error in one text without secrets, with its kind where that is not one of ours."""
    ours = _translated_error(error)
    return redact(ours.message if isinstance(ours, PenstockError) else f"{type(error).__name__}: {error}")


def _translated_error(error: BaseException) -> BaseException:
    """An error of Spark that tells of a store is ours, in fewer words."""
    return error if isinstance(error, PenstockError) else as_storage_error(error) or error
