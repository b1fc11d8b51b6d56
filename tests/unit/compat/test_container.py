"""Contexts of the calling thread, by the classes that programs written for dlt use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.common.configuration.container import Container
from penstock.common.configuration.specs import ConfigSectionContext
from penstock.common.pipeline import PipelineContext, StateInjectableContext
from penstock.errors import NotDuringRun, UsageError
from penstock.extract.incremental.context import TimeIntervalContext

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = datetime(2024, 1, 15, tzinfo=UTC), datetime(2024, 1, 16, tzinfo=UTC)


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


def test_the_interval_of_a_block_is_the_range_of_cursors_that_take_it() -> None:
    @penstock.resource
    def visits(
        at: Any = penstock.sources.incremental[datetime]("at", allow_external_schedulers=True),
    ) -> Iterator[dict[str, Any]]:
        assert (at.initial_value, at.end_value) == DAY
        assert penstock.current.interval() == DAY
        yield from ({"at": DAY[0] + timedelta(hours=12 * number)} for number in range(-1, 4))

    with Container().injectable_context(TimeIntervalContext(interval=DAY)):
        hours = [visit["at"].hour for visit in visits()]

    assert hours == [0, 12]
    assert penstock.current.interval() is None


def test_a_block_may_allow_the_interval_for_cursors_that_leave_it_open() -> None:
    def visits(at: Any) -> list[dict[str, Any]]:
        rows = [{"at": DAY[0]}, {"at": DAY[1]}]
        resource = penstock.resource(rows, name="visits")
        resource.apply_hints(incremental=at)
        return list(resource)

    naive = DAY[0].replace(tzinfo=None), DAY[1].replace(tzinfo=None)
    block = TimeIntervalContext(interval=naive, allow_external_schedulers=True)
    with Container().injectable_context(block):
        assert Container()[TimeIntervalContext] == block
        assert visits(penstock.sources.incremental[datetime]("at")) == [{"at": DAY[0]}]
        assert len(visits(penstock.sources.incremental[datetime]("at", allow_external_schedulers=False))) == 2

    assert len(visits(penstock.sources.incremental[datetime]("at"))) == 2


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
