"""The active pipeline: the one that `penstock.pipeline()` gives, and that settings are looked up for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from penstock.config import enter_scope
from penstock.errors import PipelineNotActive
from penstock.interfaces.run_context import current_context, update_context

if TYPE_CHECKING:
    from penstock.pipeline.asking import Asking


def active_pipeline() -> Asking | None:
    """The pipeline that runs or was activated last; None where there is none."""
    return cast("Asking | None", current_context().pipeline)


def activate(pipeline: Asking) -> None:
    """Make a pipeline the active one; the one before it is active no more."""
    update_context(pipeline=pipeline)
    enter_scope(pipeline_name=pipeline.pipeline_name)


def deactivate(pipeline: Asking) -> None:
    """Leave no pipeline active."""
    if current_context().pipeline is not pipeline:
        raise PipelineNotActive(pipeline_name=pipeline.pipeline_name)
    update_context(pipeline=None)
    enter_scope(pipeline_name="")
