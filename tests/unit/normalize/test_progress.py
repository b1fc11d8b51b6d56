from __future__ import annotations

from tests.recording_collector import RecordingCollector

from penstock.normalize.progress import Stopwatch, TableProgress


def test_tables_show_waiting_then_their_steps_then_done_with_their_nested_tables() -> None:
    collector = RecordingCollector()
    progress = TableProgress(collector)
    stopwatch = Stopwatch(progress.step)

    progress.queue(["items", "others"])
    progress.begin("items")
    for step in ("learn", "shape"):
        with stopwatch(step):
            pass
    progress.add_rows({"items": 12, "items__tags": 30, "items__deep": None})
    progress.add_rows({"items": 3})
    progress.end()
    with stopwatch("describe"):
        pass

    assert collector.states == {
        "items": ["waiting", "learn", "shape", "done"],
        "others": ["waiting"],
        "items__tags": ["done"],
        "items__deep": ["done"],
    }
    assert collector.counts == {"Tables": 3, "items": 15, "items__tags": 30, "items__deep": 0}
    assert collector.totals == {"Tables": 4}
    assert [step.name for step in stopwatch.steps({})] == ["learn", "shape", "describe"]


def test_end_without_a_current_table_does_nothing() -> None:
    collector = RecordingCollector()

    TableProgress(collector).end()

    assert collector.counts == {}
