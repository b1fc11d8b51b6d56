"""The exceptions of pipelines, by the names that programs for dlt catch.

`dlt.pipeline.exceptions` has these names, or `dlt.common.exceptions`. Where penstock has another name for the
same, both mean one class; a name for what cannot happen here means `NeverRaised`.
"""

from __future__ import annotations

from penstock.errors import (
    CannotRestorePipelineException,
    InvalidPipelineName,
    NeverRaised,
    NotDuringRun,
    PenstockError,
    PipelineConfigMissing,
    PipelineNeverRan,
    PipelineNotActive,
    PipelineStepFailed,
    UnsupportedVersion,
)

DltException = PenstockError
PipelineException = PenstockError
PipelineHasPendingDataException = NeverRaised
PipelineStateEngineNoUpgradePathException = UnsupportedVersion
PipelineStateNotAvailable = NotDuringRun

__all__ = [
    "CannotRestorePipelineException",
    "DltException",
    "InvalidPipelineName",
    "PipelineConfigMissing",
    "PipelineException",
    "PipelineHasPendingDataException",
    "PipelineNeverRan",
    "PipelineNotActive",
    "PipelineStateEngineNoUpgradePathException",
    "PipelineStateNotAvailable",
    "PipelineStepFailed",
]
