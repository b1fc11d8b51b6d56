"""Errors of extraction, by the names that programs for dlt catch.

`dlt.extract.exceptions` and `dlt.extract.incremental.exceptions` have these names. Where penstock has another
name for the same, both mean one class.
"""

from __future__ import annotations

from penstock.errors import (
    DataItemRequiredForDynamicTableHints,
    DataValidationError,
    DltResourceException,
    InconsistentTableTemplate,
    IncrementalCursorInvalidCoercion,
    IncrementalCursorPathHasValueNone,
    IncrementalCursorPathMissing,
    IncrementalPrimaryKeyMissing,
    MissingTableName,
    PenstockError,
    ResourceFailed,
    ResourcesNotFound,
    ResourceUnbound,
    SourceExhausted,
    UnsupportedData,
)

ExtractorException = PenstockError
InvalidResourceDataType = UnsupportedData
InvalidResourceDataTypeBasic = UnsupportedData
InvalidResourceDataTypeIsNone = UnsupportedData
InvalidResourceDataTypeMultiplePipes = UnsupportedData
ParametrizedResourceUnbound = ResourceUnbound
PipeGenInvalid = UnsupportedData
PipeItemProcessingError = ResourceFailed
ResourceExtractionError = ResourceFailed
ResourceNameMissing = MissingTableName
ResourcesNotFoundError = ResourcesNotFound
ValidationError = DataValidationError

__all__ = [
    "DataItemRequiredForDynamicTableHints",
    "DltResourceException",
    "ExtractorException",
    "InconsistentTableTemplate",
    "IncrementalCursorInvalidCoercion",
    "IncrementalCursorPathHasValueNone",
    "IncrementalCursorPathMissing",
    "IncrementalPrimaryKeyMissing",
    "InvalidResourceDataType",
    "InvalidResourceDataTypeBasic",
    "InvalidResourceDataTypeIsNone",
    "InvalidResourceDataTypeMultiplePipes",
    "ParametrizedResourceUnbound",
    "PipeGenInvalid",
    "PipeItemProcessingError",
    "ResourceExtractionError",
    "ResourceNameMissing",
    "ResourcesNotFoundError",
    "SourceExhausted",
    "ValidationError",
]
