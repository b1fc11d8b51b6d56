from __future__ import annotations

import io
import logging
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from penstock.errors import UsageError
from penstock.interfaces.progress import JOBS, Collector
from penstock.pipeline import progress
from penstock.pipeline.live_view import LiveCollector
from penstock.pipeline.progress import import_library, resolve_collector

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def output_of(collector: Collector, stream: io.StringIO) -> str:
    """Return the output of a collector for a step with two names, a total and a failure."""
    with collector("load of shop"):
        collector.update(JOBS, inc=0, total=3)
        collector.update("orders", inc=1_000)
        collector.update("orders", inc=234)
        collector.update("parts", inc=5, label="lost")
        collector.mark("orders", "done", size=10)
        collector.mark("parts", "failed", message="parts is closed")
        collector.update(JOBS, message="slow today", inc_total=1)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["none", "null"])
def test_a_silent_collector_can_be_chosen_by_name(name: str) -> None:
    assert type(resolve_collector(name)) is Collector


def test_a_custom_collector_is_used_as_it_is() -> None:
    own = Collector()

    assert resolve_collector(own) is own


def test_an_unknown_collector_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, match="'bars'") as refused:
        resolve_collector("bars")

    assert all(name in (refused.value.hint or "") for name in ("log", "rich", "tqdm", "none"))


@pytest.mark.parametrize(
    ("stream", "term", "kind"),
    [
        (Terminal, "xterm", LiveCollector),
        (Terminal, "dumb", Collector),
        (io.StringIO, "xterm", Collector),
        (lambda: None, "xterm", Collector),
        (object, "xterm", Collector),
    ],
)
def test_by_default_a_run_draws_in_a_terminal_and_shows_nothing_elsewhere(
    stream: Callable[[], Any], term: str, kind: type[Collector], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", stream())

    assert type(resolve_collector(None)) is kind


def test_the_live_view_writes_lines_without_a_terminal() -> None:
    stream = io.StringIO()

    collector = progress.rich(Console(file=stream, force_terminal=False))

    assert isinstance(collector, progress.log)
    assert "load of shop: parts failed: parts is closed\n" in output_of(collector, stream)


def test_a_terminal_gets_a_live_view() -> None:
    collector = progress.rich(Console(file=Terminal(), force_terminal=True))

    assert isinstance(collector, LiveCollector)
    assert collector.shows_stages


def test_lines_have_rates_and_totals_and_failures_are_written_at_once() -> None:
    stream, moments = io.StringIO(), iter(range(100))

    output = output_of(progress.log(100, logger=stream, clock=lambda: next(moments)), stream)

    assert output.splitlines() == [
        "load of shop: parts failed: parts is closed",
        "load of shop: Jobs: slow today",
        "load of shop: Jobs 1 of 4, orders 1,234 (206/s), parts lost 5 (1/s), done in 7 s",
    ]


@pytest.mark.parametrize("make", [progress.log, progress.tqdm])
def test_a_note_is_written_at_once_with_the_step_or_between_steps(make: Any) -> None:
    stream = io.StringIO()
    collector = make(logger=stream) if make is progress.log else make(file=stream)

    collector.note("starting Spark on local[*]")
    before = stream.getvalue()
    with collector("load of shop"):
        collector.note("Spark is ready")

    assert before == "starting Spark on local[*]\n"
    assert "Spark is ready\n" in stream.getvalue()


def test_a_note_is_printed_without_markup_in_a_terminal() -> None:
    stream = Terminal()
    collector = LiveCollector(Console(file=stream, force_terminal=True, width=80))

    collector.note("starting Spark on local[2]")

    assert stream.getvalue() == "starting Spark on local[2]\n"


def test_a_failed_step_is_not_shown_as_done() -> None:
    stream = io.StringIO()
    collector = progress.log(logger=stream)

    with pytest.raises(KeyError), collector("extract of shop"):
        raise KeyError("x")

    assert stream.getvalue() == "extract of shop: stopped after 0 s\n"
    assert collector.step is None


def test_lines_can_go_to_a_logger_with_the_time_of_the_processor(caplog: pytest.LogCaptureFixture) -> None:
    collector = progress.log(0, logging.getLogger("shop"), logging.WARNING, dump_system_stats=True)

    with caplog.at_level(logging.WARNING, "shop"), collector("extract of shop"):
        collector.update("orders")

    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert "s of processor time" in caplog.text


@pytest.mark.parametrize("name", ["tqdm", "rich"])
def test_the_error_for_a_missing_library_has_the_line_that_installs_it(name: str) -> None:
    program = f"""
        import sys
        sys.modules["{name}"] = None
        import penstock
        try:
            penstock.pipeline("shop", progress="{name}")
        except penstock.PenstockError as error:
            print(error.code, error.hint)
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )

    assert done.stdout == f"missing-extra pip install 'penstock[{name}]'\n", done.stderr


def test_a_broken_library_is_not_reported_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_bars.py").write_text("import something_it_needs")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="something_it_needs"):
        import_library("broken_bars")


def test_bars_of_tqdm_count_each_name_and_leave_nothing_open() -> None:
    pytest.importorskip("tqdm")
    stream = Terminal()
    collector = progress.tqdm(file=stream, mininterval=60)

    output = output_of(collector, stream)

    assert "orders: 1234" in output
    assert "Jobs:" in output
    assert "0/3" in output
    assert "parts failed: parts is closed" in output
    assert collector._bars == {}


def test_a_single_bar_of_tqdm_counts_all_rows_and_no_jobs() -> None:
    pytest.importorskip("tqdm")
    stream = Terminal()

    output = output_of(progress.tqdm(single_bar=True, file=stream), stream)

    assert "load of shop: 1239" in output
    assert "Jobs: " in output  # the message, not a bar
    assert "orders: " not in output
