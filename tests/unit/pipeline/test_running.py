"""What a run does before it comes to its data; packages that bring nothing but state need no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.load.scripted import World
from tests.unit.pipeline.sessions import no_session

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


def made(tmp_path: Path, world: World) -> penstock.Pipeline:
    return penstock.pipeline("shop", tmp_path, destination=world.destination(), spark=no_session())


def with_a_package_that_waits(tmp_path: Path, world: World) -> penstock.Pipeline:
    pipeline = made(tmp_path, world)
    with pipeline.managed_state(extract_state=True) as state:
        state["sources"]["shop"] = {"page": 7}
    return pipeline


def test_a_run_can_be_told_to_leave_new_data_for_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def rows() -> Iterator[Any]:
        asked.append(1)
        yield from ()

    monkeypatch.setenv("RUN__PENDING", "exit")
    pipeline = with_a_package_that_waits(tmp_path, World(tmp_path))

    first = pipeline.run(rows, table_name="items")
    after_first = len(asked)
    second = pipeline.run(rows, table_name="items")

    assert (len(first.loads_ids), after_first) == (1, 0)
    assert (len(second.loads_ids), len(asked)) == (0, 1)


def test_a_run_goes_on_with_its_data_after_what_waited(tmp_path: Path) -> None:
    asked: list[Any] = []

    def rows() -> Iterator[Any]:
        asked.append(penstock.current.source_state()["page"])
        yield from ()

    pipeline = with_a_package_that_waits(tmp_path, World(tmp_path))

    info = pipeline.run(rows, table_name="items")

    assert len(info.loads_ids) == 1
    assert asked == [7], "what waited counts before new data is asked for"
