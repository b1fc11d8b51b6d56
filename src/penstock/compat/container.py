"""The contexts of the calling thread: the active pipeline, the state, and the sections of settings."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from penstock.config import in_scope, scope
from penstock.errors import NotDuringRun, UsageError
from penstock.interfaces.run_context import current_context, override_context
from penstock.interfaces.scheduler import TimeIntervalContext, interval_block, interval_context
from penstock.pipeline.pipeline import active_pipeline
from penstock.pipeline.state import StateInjectableContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.pipeline.pipeline import Pipeline

ContextT = TypeVar("ContextT")


@dataclass(frozen=True, slots=True)
class ConfigSectionContext:
    """The pipeline and the sections of lookups; None and an empty tuple keep those outside of the block."""

    pipeline_name: str | None = None
    sections: tuple[str, ...] = ()


class ActivePipelineContext:
    """The pipeline that is active."""

    def is_active(self) -> bool:
        """Return whether a pipeline is active."""
        return active_pipeline() is not None

    def pipeline(self) -> Pipeline:
        """Return the active pipeline."""
        pipeline = active_pipeline()
        if pipeline is None:
            raise NotDuringRun(what="the pipeline")
        return pipeline

    def activate(self, pipeline: Pipeline) -> None:
        """Make a pipeline the active one."""
        pipeline.activate()

    def deactivate(self) -> None:
        """Deactivate the active pipeline, if any."""
        if (pipeline := active_pipeline()) is not None:
            pipeline.deactivate()


class Container:
    """The contexts of the calling thread, by their classes.

    >>> with Container().injectable_context(ConfigSectionContext(sections=("sources", "shop"))):
    ...     Container()[ConfigSectionContext].sections
    ('sources', 'shop')
    """

    def __getitem__(self, kind: type[ContextT]) -> ContextT:
        context: Any
        if kind is ActivePipelineContext:
            context = ActivePipelineContext()
        elif kind is StateInjectableContext:
            state = current_context().state
            if state is None:
                raise NotDuringRun(what="the state")
            context = StateInjectableContext(state=state)
        elif kind is ConfigSectionContext:
            context = ConfigSectionContext(scope().pipeline_name, scope().sections)
        elif kind is TimeIntervalContext:
            context = interval_context()
        else:
            raise _unknown_context(kind)
        return cast("ContextT", context)

    @contextmanager
    def injectable_context(self, config: ContextT) -> Iterator[ContextT]:
        """Set a context within a block."""
        block: AbstractContextManager[Any]
        match config:
            case StateInjectableContext():
                block = override_context(state=config.state)
            case ConfigSectionContext():
                block = in_scope(pipeline_name=config.pipeline_name, sections=config.sections or None)
            case TimeIntervalContext():
                block = interval_block(config)
            case _:
                raise _unknown_context(type(config))
        with block:
            yield config


def _unknown_context(kind: type) -> UsageError:
    return UsageError(
        f"penstock has no context {kind.__name__}",
        hint="use the names of penstock.current, or settings in config.toml",
    )
