from __future__ import annotations

from tests.recording_collector import RecordingCollector

from penstock.normalize.progress import TableProgress
from penstock.normalize.stopwatch import Stopwatch


def test_tables_wait_are_worked_at_and_are_done_with_what_is_nested_in_them() -> None:
    listener = RecordingCollector()
    told = TableProgress(listener)
    clock = Stopwatch(told.step)

    told.queue(["items", "others"])
    told.begin("items")
    for step in ("learn", "shape"):
        with clock(step):
            pass
    told.add_rows({"items": 12, "items__tags": 30, "items__deep": None})
    told.add_rows({"items": 3})
    told.end()
    with clock("describe"):
        pass

    assert listener.states == {
        "items": ["waiting", "learn", "shape", "done"],
        "others": ["waiting"],
        "items__tags": ["done"],
        "items__deep": ["done"],
    }
    assert listener.counts == {"Tables": 3, "items": 15, "items__tags": 30, "items__deep": 0}
    assert listener.totals == {"Tables": 4}
    assert [step.name for step in clock.steps({})] == ["learn", "shape", "describe"]


def test_the_end_of_nothing_is_nothing() -> None:
    listener = RecordingCollector()

    TableProgress(listener).end()

    assert listener.counts == {}
