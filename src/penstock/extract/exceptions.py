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
    InvalidSchemaName,
    MissingTableName,
    NotDuringRun,
    PenstockError,
    ResourceFailed,
    ResourcesNotFound,
    ResourceUnbound,
    SourceExhausted,
    UnknownSourceReference,
    UnsupportedData,
    UsageError,
)

CurrentSourceNotAvailable = NotDuringRun
CurrentSourceSchemaNotAvailable = NotDuringRun
DeletingResourcesNotSupported = UsageError
DltException = PenstockError
DltSourceException = UsageError
ExplicitSourceNameInvalid = InvalidSchemaName
ExtractorException = PenstockError
IncrementalUnboundError = UsageError
InvalidParallelResourceDataType = UnsupportedData
InvalidParentResourceDataType = UnsupportedData
InvalidParentResourceIsAFunction = UnsupportedData
InvalidResourceDataType = UnsupportedData
InvalidResourceDataTypeBasic = UnsupportedData
InvalidResourceDataTypeIsNone = UnsupportedData
InvalidResourceDataTypeMultiplePipes = UnsupportedData
InvalidResourceReturnsResource = UnsupportedData
InvalidStepFunctionArguments = ResourceFailed
InvalidTransformerDataTypeGeneratorFunctionRequired = UsageError
InvalidTransformerGeneratorFunction = UsageError
ParametrizedResourceUnbound = ResourceUnbound
PipeException = PenstockError
PipeGenInvalid = UnsupportedData
PipeItemProcessingError = ResourceFailed
PipeNotBoundToData = ResourceUnbound
ResourceExtractionError = ResourceFailed
ResourceNameMissing = MissingTableName
ResourceNotATransformer = UsageError
ResourcesNotFoundError = ResourcesNotFound
SourceDataIsNone = UnsupportedData
SourceNotAFunction = UsageError
ValidationError = DataValidationError

__all__ = [
    "CurrentSourceNotAvailable",
    "CurrentSourceSchemaNotAvailable",
    "DataItemRequiredForDynamicTableHints",
    "DeletingResourcesNotSupported",
    "DltException",
    "DltResourceException",
    "DltSourceException",
    "ExplicitSourceNameInvalid",
    "ExtractorException",
    "InconsistentTableTemplate",
    "IncrementalCursorInvalidCoercion",
    "IncrementalCursorPathHasValueNone",
    "IncrementalCursorPathMissing",
    "IncrementalPrimaryKeyMissing",
    "IncrementalUnboundError",
    "InvalidParallelResourceDataType",
    "InvalidParentResourceDataType",
    "InvalidParentResourceIsAFunction",
    "InvalidResourceDataType",
    "InvalidResourceDataTypeBasic",
    "InvalidResourceDataTypeIsNone",
    "InvalidResourceDataTypeMultiplePipes",
    "InvalidResourceReturnsResource",
    "InvalidStepFunctionArguments",
    "InvalidTransformerDataTypeGeneratorFunctionRequired",
    "InvalidTransformerGeneratorFunction",
    "ParametrizedResourceUnbound",
    "PipeException",
    "PipeGenInvalid",
    "PipeItemProcessingError",
    "PipeNotBoundToData",
    "ResourceExtractionError",
    "ResourceNameMissing",
    "ResourceNotATransformer",
    "ResourcesNotFoundError",
    "SourceDataIsNone",
    "SourceExhausted",
    "SourceNotAFunction",
    "UnknownSourceReference",
    "ValidationError",
]
