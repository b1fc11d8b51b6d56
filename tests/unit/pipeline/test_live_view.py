from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from penstock.interfaces.progress import JOBS, TABLES, SparkStage
from penstock.pipeline.live_view import (
    COUNTING,
    LiveCollector,
    ProgressLine,
    StepView,
    printable_line,
    render_view,
    select_lines,
    summary_line,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

STATES = st.sampled_from(("done", "waiting", "failed", "retried", "left out", "shape", "running", COUNTING))


def text_of(renderable: RenderableType, *, width: int = 90) -> list[str]:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(renderable)
    return [line.rstrip() for line in console.export_text().splitlines()]


def count(view: StepView, name: str, inc: int, now: float, total: int | None = None) -> None:
    view.count(name, inc, now=now, total=total, inc_total=None)


def mark(
    view: StepView, name: str, state: str, *, size: int | None = None, message: str | None = None
) -> None:
    view.mark(name, state, now=view.started_at, size=size, message=message)


def test_extraction_shows_rows_and_rows_per_second_of_each_resource() -> None:
    view = StepView(step="extract of shop", started_at=100.0)
    count(view, "orders", 50_000, 106.0)
    count(view, "orders", 70_000, 112.0)
    count(view, "customers", 4_200, 112.0)
    mark(view, "prices", "left out", message="prices raised KeyError\nat once")
    view.stages = (SparkStage(stage_id=7, tasks=200, done=50), SparkStage(stage_id=12, tasks=2, done=0))

    assert text_of(render_view(view, now=112.5, height=24)) == [
        "extract of shop  12.5 s",
        " ▸  orders     120,000 rows  10,000/s",
        " ▸  customers    4,200 rows     700/s",
        " ✗  prices                               left out: prices raised KeyError",
        "   Spark stage 7   ━━━━━━━╺━━━━━━━━━━━━━━━━━━━━  50 of 200 tasks",
        "   Spark stage 12  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━  0 of 2 tasks",
    ]
    assert text_of(summary_line(view, now=112.5, failed=False)) == [
        "✓ extract of shop took 12.5 s  124,200 rows"
    ]


def test_normalization_shows_the_state_of_each_table() -> None:
    view = StepView(step="normalize of shop", started_at=0.0)
    count(view, TABLES, 0, 0.0, total=2)
    mark(view, "orders", "done")
    count(view, "orders", 120_000, 5.0)
    mark(view, "customers", "shape")
    count(view, TABLES, 1, 5.0)

    assert text_of(render_view(view, now=8.0, height=24)) == [
        "normalize of shop  8.0 s  ━━━━━━━━━━━━━━╺━━━━━━━━━━━━━  1 of 2 tables",
        " ✓  orders     120,000 rows      done",
        " ▸  customers                    shape",
    ]


def test_a_load_shows_states_rows_and_bytes_of_each_table() -> None:
    view = StepView(step="load of shop", started_at=0.0)
    count(view, JOBS, 0, 0.0, total=4)
    for name, state, size in [("items", "done", 4_300_000), ("orders", "running", 9_900_000)]:
        mark(view, name, state, size=size)
    mark(view, "parts", "failed", size=120_000, message="parts is closed")
    mark(view, "sellers", "waiting", size=1_200)
    count(view, "items", 1, 2.0)
    count(view, JOBS, 1, 2.0)

    assert text_of(render_view(view, now=75.0, height=24)) == [
        "load of shop  1 min 15 s  ━━━━━━━╺━━━━━━━━━━━━━━━━━━━━  1 of 4 jobs",
        " ✓  items    1 row      4.1 MB  done",
        " ▸  orders              9.4 MB  running",
        " ✗  parts             117.2 KB  failed: parts is closed",
        " ·  sellers             1.2 KB  waiting",
    ]
    assert text_of(summary_line(view, now=75.0, failed=True)) == [
        "✗ load of shop stopped after 1 min 15 s  1 job, 1 row, 13.7 MB"
    ]


def test_an_ascii_terminal_gets_ascii_only() -> None:
    view = StepView(step="load of shop", started_at=0.0)
    for name, state in [("a", "done"), ("b", "running"), ("c", "failed"), ("d", "waiting")]:
        mark(view, name, state)

    lines = [
        *text_of(render_view(view, now=1.0, height=6, ascii_only=True)),
        *text_of(summary_line(view, now=1.0, failed=False, ascii_only=True)),
    ]

    assert "\n".join(lines).isascii()
    assert lines[-2:] == ["  ... and 1 more: 1 done", "+ load of shop took 1.0 s  0 rows"]


@given(states=st.lists(STATES, max_size=60), height=st.integers(1, 40))
def test_the_view_fits_the_terminal_and_hides_the_least_important_lines(
    states: list[str], height: int
) -> None:
    view = StepView(step="load of shop", started_at=0.0)
    for number, state in enumerate(states):
        mark(view, f"t{number}", state)

    shown, folded = select_lines(view.lines, max(height - 3, 1))
    drawn_lines = text_of(render_view(view, now=1.0, height=height))

    assert len(drawn_lines) <= max(height, 3)
    assert len(shown) + len(folded) == len(states)
    assert list(shown) == [name for name in view.lines if name in shown]
    hidden = {line.state for line in folded}
    if hidden - {"done"}:
        assert "done" not in {line.state for line in shown.values()}
    if hidden & {"failed", "retried", "left out"}:
        assert {line.state for line in shown.values()} <= {"failed", "retried", "left out"}


@given(text=st.text())
def test_control_characters_in_a_name_are_replaced(text: str) -> None:
    view = StepView(step="extract of shop", started_at=0.0)
    mark(view, text, "failed", message=text)

    assert printable_line(text).isprintable()
    assert "\x1b" not in "".join(text_of(render_view(view, now=1.0, height=24)))


@given(pieces=st.lists(st.tuples(st.integers(1, 1000), st.floats(0.2, 5)), min_size=1))
def test_a_rate_is_measured_while_rows_are_counted(pieces: list[tuple[int, float]]) -> None:
    view, now = StepView(step="extract", started_at=10.0), 10.0
    for inc, seconds in pieces:
        now += seconds
        count(view, "orders", inc, now)

    rate = view.lines["orders"].rate
    assert rate == pytest.approx(sum(inc for inc, _ in pieces) / (now - 10.0))


def test_a_line_that_was_marked_has_no_rate() -> None:
    assert ProgressLine(started_at=0, updated_at=1, count=5, state="done").rate is None


def screen() -> tuple[LiveCollector, io.StringIO]:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, height=24, legacy_windows=False)
    return LiveCollector(console, refresh_per_second=50), stream


def test_a_running_step_is_drawn_and_leaves_one_line() -> None:
    collector, stream = screen()

    with collector("extract of shop"):
        collector.update("orders", inc=1_000)
        collector.stages([SparkStage(stage_id=3, tasks=2, done=1)])
        during = text_of(collector.render())
    after = stream.getvalue().rsplit("\n", 2)[-2]

    assert [line.split()[0] for line in during] == ["extract", "▸", "Spark"]
    assert "extract of shop" in after
    assert "1,000 rows" in after
    assert collector.render() == ""


def test_an_error_is_shown_in_the_line_of_the_step() -> None:
    collector, stream = screen()

    with pytest.raises(KeyError), collector("extract of shop"):
        raise KeyError("x")

    assert "stopped after" in stream.getvalue()


def test_of_two_parallel_views_one_is_drawn() -> None:
    first, _ = screen()
    second, quiet = screen()

    with first("extract of a"), second("extract of b"):
        second.update("orders", inc=5)
    assert quiet.getvalue() == ""

    with second("load of b"):
        pass
    assert "load of b" in quiet.getvalue()


def test_updates_from_many_threads_are_counted() -> None:
    collector, _ = screen()

    def tell() -> None:
        for _ in range(500):
            collector.update("t", inc=1)

    with collector("load of shop"):
        tellers = [threading.Thread(target=tell) for _ in range(4)]
        for teller in tellers:
            teller.start()
        for teller in tellers:
            teller.join()
        lines = text_of(collector.render())

    assert "2,000 rows" in lines[1]
