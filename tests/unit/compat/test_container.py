"""Contexts of the calling thread, by the classes that programs written for dlt use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.common.configuration.container import Container
from penstock.common.configuration.specs import ConfigSectionContext
from penstock.common.pipeline import PipelineContext, StateInjectableContext
from penstock.errors import NotDuringRun, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_a_resource_reads_and_changes_the_state_of_the_block() -> None:
    @penstock.resource
    def messages() -> Iterator[dict[str, int]]:
        state = penstock.current.resource_state()
        state["count"] = state.get("count", 0) + 1
        yield {"count": state["count"]}

    document: dict[str, object] = {}
    with Container().injectable_context(StateInjectableContext(state=document)):
        assert list(messages) == [{"count": 1}]
        assert list(messages) == [{"count": 2}]
        assert Container()[StateInjectableContext].state is document

    assert list(messages) == [{"count": 1}]


def test_state_outside_of_a_block_is_an_error() -> None:
    with pytest.raises(NotDuringRun):
        _ = Container()[StateInjectableContext]


def test_managed_state_is_the_state_of_its_block(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("managed", pipelines_dir=str(tmp_path), destination="filesystem")

    with pipeline.managed_state() as state:
        assert Container()[StateInjectableContext].state is state
    pipeline.deactivate()


def test_sections_and_pipeline_of_lookups_hold_within_the_block() -> None:
    with Container().injectable_context(ConfigSectionContext("shop", ("sources", "hub"))):
        assert Container()[ConfigSectionContext] == ConfigSectionContext("shop", ("sources", "hub"))

    assert Container()[ConfigSectionContext] == ConfigSectionContext()


def test_the_active_pipeline_is_found_and_deactivated(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("active", pipelines_dir=str(tmp_path))
    context = Container()[PipelineContext]

    assert context.is_active()
    assert context.pipeline() is pipeline
    context.deactivate()
    assert not context.is_active()
    with pytest.raises(NotDuringRun):
        context.pipeline()
    context.activate(pipeline)
    assert context.is_active()
    context.deactivate()


def test_a_class_that_is_no_context_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no context int"):
        _ = Container()[int]
    with pytest.raises(UsageError, match="no context dict"), Container().injectable_context({}):
        pass
