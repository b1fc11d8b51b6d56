"""Pipelines and their results, by dlt's import path."""

from penstock.compat.container import ActivePipelineContext as PipelineContext
from penstock.compat.types import TSourceState
from penstock.compat.values import get_dlt_pipelines_dir
from penstock.extract.report import ExtractInfo
from penstock.load.report import LoadInfo
from penstock.normalize.report import NormalizeInfo
from penstock.package import LoadPackageInfo
from penstock.pipeline.state import StateInjectableContext, TPipelineState
from penstock.pipeline.types import SupportsPipeline, TRefreshMode
from penstock.sources.state import resource_state, source_state

__all__ = [
    "ExtractInfo",
    "LoadInfo",
    "LoadPackageInfo",
    "NormalizeInfo",
    "PipelineContext",
    "StateInjectableContext",
    "SupportsPipeline",
    "TPipelineState",
    "TRefreshMode",
    "TSourceState",
    "get_dlt_pipelines_dir",
    "resource_state",
    "source_state",
]
