"""The live view of a step in a terminal: its counts, redrawn while the step runs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich import get_console
from rich.console import Group
from rich.errors import LiveError
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.interfaces.humanize import human_count, human_seconds, human_size
from penstock.interfaces.progress import STEP_COUNTERS, Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console, RenderableType

    from penstock.interfaces.progress import SparkStage

_TERMINAL_LOCK: Final = threading.Lock()
"""Held by the view that is drawn: pipelines may run in parallel, and a terminal shows one view."""
COUNTING: Final = "counting"
"""The state of a line that is counted and never marked."""
_BURST_SECONDS: Final = 0.1
"""Seconds; updates within are treated as simultaneous."""
_MAX_STAGES: Final = 3
_BAR_WIDTH: Final = 28
_SLOW_RATE: Final = 10
_SHOWN_FIRST: Final = ("failed", "retried", "left out")
_HIDDEN_FIRST: Final = ("waiting", "done")
_COLOURS: Final = {"done": "green", "failed": "red", "left out": "red", "retried": "yellow", "waiting": "dim"}
_SIGNS: Final = {"done": "✓", "failed": "✗", "left out": "✗", "retried": "↻", "waiting": "·"}
_ASCII_SIGNS: Final = {"done": "+", "failed": "!", "left out": "!", "retried": "!", "waiting": "."}
_RUNNING_SIGNS: Final = ("▸", ">")


class LiveCollector(Collector):
    """Draws the running step, and leaves one line of it. A second view in the same process is not drawn.

    Texts that are printed meanwhile are shown above the view.
    """

    shows_stages = True

    def __init__(
        self,
        console: Console | None = None,
        refresh_per_second: float = 4.0,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console or get_console()
        self._refresh_per_second, self._clock = refresh_per_second, clock
        self._lock = threading.Lock()
        self._view: StepView | None = None
        self._live: Live | None = None

    @property
    def can_draw(self) -> bool:
        """Whether the console can be drawn on."""
        return self.console.is_terminal or self.console.is_jupyter

    @property
    def is_ascii_only(self) -> bool:
        """Whether the terminal supports only ASCII."""
        return self.console.options.ascii_only

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """Count for the next redraw. A message is shown at once, above the view."""
        key = f"{name} {label}" if label else name
        with self._lock:
            if self._view is not None:
                self._view.count(key, inc, now=self._clock(), total=total, inc_total=inc_total)
        if message is not None and self._live is not None:
            self.console.print(f"{key}: {message}", markup=False, highlight=False)

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Set the state of a resource or table."""
        with self._lock:
            if self._view is not None:
                self._view.mark(name, state, now=self._clock(), size=size, message=message)

    def note(self, text: str) -> None:
        """Print a line, above the view if there is one."""
        self.console.print(text, markup=False, highlight=False)

    def stages(self, running: Sequence[SparkStage]) -> None:
        """Set the running stages of Spark."""
        with self._lock:
            if self._view is not None:
                self._view.stages = tuple(running)

    def render(self) -> RenderableType:
        """Return the view as of now."""
        with self._lock:
            if self._view is None:
                return ""
            return render_view(
                self._view, now=self._clock(), height=self.console.size.height, ascii_only=self.is_ascii_only
            )

    def _start(self, step: str) -> None:
        super()._start(step)
        self._view = StepView(step=step, started_at=self._clock())
        if not _TERMINAL_LOCK.acquire(blocking=False):
            return
        live = Live(
            console=self.console,
            refresh_per_second=self._refresh_per_second,
            transient=True,
            get_renderable=self.render,
        )
        try:
            live.start()
        except LiveError:  # another program part draws on this console
            _TERMINAL_LOCK.release()
            return
        self._live = live

    def _stop(self) -> None:
        live, view = self._live, self._view
        self._live = self._view = None
        if live is not None and view is not None:
            try:
                live.stop()
                self.console.print(
                    summary_line(
                        view, now=self._clock(), failed=self.has_failed, ascii_only=self.is_ascii_only
                    )
                )
            finally:
                _TERMINAL_LOCK.release()
        super()._stop()


@dataclass(slots=True, kw_only=True)
class ProgressLine:
    """One resource or table: its rows and its state."""

    started_at: float
    updated_at: float
    count: int = 0
    total: int | None = None
    size: int | None = None
    state: str = COUNTING
    message: str | None = None

    @property
    def rate(self) -> float | None:
        """Rows per second while they were counted; None for rows that are counted all at once."""
        seconds = self.updated_at - self.started_at
        return self.count / seconds if self.state == COUNTING and self.count and seconds > 0 else None


@dataclass(slots=True, kw_only=True)
class StepView:
    """One running step: its lines in the order of their first update, and the counters of the whole step."""

    step: str
    started_at: float
    lines: dict[str, ProgressLine] = field(default_factory=dict)
    overall: dict[str, ProgressLine] = field(default_factory=dict)
    stages: Sequence[SparkStage] = ()
    _last_updates: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        self._last_updates = (self.started_at, self.started_at)

    def count(self, name: str, inc: int, *, now: float, total: int | None, inc_total: int | None) -> None:
        """Add to a count, and to its total if one is given."""
        line = self._line(name, now)
        line.count, line.updated_at = line.count + inc, now
        line.total = total if total is not None else line.total
        line.total = (line.total or 0) + inc_total if inc_total else line.total

    def mark(self, name: str, state: str, *, now: float, size: int | None, message: str | None) -> None:
        """Set the state of a line."""
        line = self._line(name, now)
        line.state, line.message = state, message
        line.size = size if size is not None else line.size

    def rows(self) -> int:
        """Return the rows of all lines."""
        return sum(line.count for line in self.lines.values())

    def _line(self, name: str, now: float) -> ProgressLine:
        if now - self._last_updates[1] >= _BURST_SECONDS:
            self._last_updates = (self._last_updates[1], now)
        group = self.overall if name in STEP_COUNTERS else self.lines
        if name not in group:
            # Its rows have been produced since the last update of other lines.
            group[name] = ProgressLine(started_at=self._last_updates[0], updated_at=now)
        return group[name]


def render_view(view: StepView, *, now: float, height: int, ascii_only: bool = False) -> RenderableType:
    """Return the view as of now, in at most `height` lines."""
    stages = view.stages[:_MAX_STAGES]
    max_lines = max(height - 3 - len(stages), 1)
    shown, folded = select_lines(view.lines, max_lines)
    parts: list[RenderableType] = [_header(view, now)]
    if shown:
        parts.append(_line_table(shown, ascii_only=ascii_only))
    if folded:
        text = f"  {'...' if ascii_only else '…'} {_hidden_lines_text(folded)}"
        parts.append(Text(text, style="dim", no_wrap=True, overflow="ellipsis"))
    parts += [_stage_table(stages)] if stages else []
    return Group(*parts)


def summary_line(view: StepView, *, now: float, failed: bool, ascii_only: bool = False) -> Text:
    """Return the line that remains of a step."""
    sign = (_ASCII_SIGNS if ascii_only else _SIGNS)["failed" if failed else "done"]
    duration = human_seconds(now - view.started_at)
    facts = [human_count(line.count, name.lower().removesuffix("s")) for name, line in view.overall.items()]
    facts += [human_count(view.rows(), "row")] if view.lines else []
    size = sum(line.size or 0 for line in view.lines.values())
    facts += [human_size(size)] if size else []
    text = Text(f"{sign} ", style="red" if failed else "green", end="")
    text.append(printable_line(view.step), style="bold" if failed else "default")
    text.append(f" {'stopped after' if failed else 'took'} {duration}", style="default")
    text.append(f"  {', '.join(facts)}" if facts else "", style="dim")
    return text


def select_lines(
    lines: dict[str, ProgressLine], max_lines: int
) -> tuple[dict[str, ProgressLine], list[ProgressLine]]:
    """Return the lines to show, in their order, and the others: waiting and done lines are hidden first.

    >>> states = {"a": "done", "b": "shape"}.items()
    >>> lines = {name: ProgressLine(started_at=0, updated_at=0, state=state) for name, state in states}
    >>> shown, folded = select_lines(lines, 1)
    >>> list(shown), [line.state for line in folded]
    (['b'], ['done'])
    """
    by_weight = sorted(lines, key=lambda name: _display_rank(lines[name]))[:max_lines]
    shown = {name: line for name, line in lines.items() if name in set(by_weight)}
    return shown, [line for name, line in lines.items() if name not in shown]


def printable_line(text: str) -> str:
    """Return the first line of a text without control characters."""
    first = (text.strip().splitlines() or [""])[0]
    return "".join(char if char.isprintable() else "\ufffd" for char in first)


def _display_rank(line: ProgressLine) -> int:
    if line.state in _SHOWN_FIRST:
        return 0
    return 2 + _HIDDEN_FIRST.index(line.state) if line.state in _HIDDEN_FIRST else 1


def _header(view: StepView, now: float) -> Table:
    head = Table.grid(padding=(0, 2))
    cells: list[RenderableType] = [
        Text(printable_line(view.step), style="bold"),
        Text(human_seconds(now - view.started_at), style="dim"),
    ]
    for name, line in view.overall.items():
        if line.total is not None:
            bar = ProgressBar(total=max(line.total, 1), completed=line.count, width=_BAR_WIDTH)
            cells += [bar, Text(f"{line.count:,} of {line.total:,} {name.lower()}")]
    head.add_row(*cells)
    return head


def _line_table(lines: dict[str, ProgressLine], *, ascii_only: bool) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(no_wrap=True)
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for name, line in lines.items():
        colour = _COLOURS.get(line.state, "cyan")
        sign = (_ASCII_SIGNS if ascii_only else _SIGNS).get(line.state, _RUNNING_SIGNS[ascii_only])
        table.add_row(
            Text(f" {sign}", style=colour),
            Text(printable_line(name)),
            Text(_row_text(line)),
            Text(_rate_text(line.rate), style="dim"),
            Text("" if line.size is None else human_size(line.size), style="dim"),
            Text(_state_text(line), style=colour),
        )
    return table


def _row_text(line: ProgressLine) -> str:
    if not line.count and line.state != COUNTING:
        return "" if line.state != "done" else "0 rows"
    if line.total is not None and line.count < line.total:
        return f"{line.count:,} of {line.total:,} rows"
    return human_count(line.count, "row")


def _rate_text(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:,.1f}/s" if rate < _SLOW_RATE else f"{rate:,.0f}/s"


def _state_text(line: ProgressLine) -> str:
    if line.state == COUNTING:
        return ""
    return line.state if line.message is None else f"{line.state}: {printable_line(line.message)}"


def _hidden_lines_text(lines: Iterable[ProgressLine]) -> str:
    states = Counter(line.state for line in lines)
    return f"and {states.total():,} more: " + ", ".join(f"{many:,} {state}" for state, many in states.items())


def _stage_table(stages: Iterable[SparkStage]) -> Table:
    table = Table.grid(padding=(0, 2))
    for stage in stages:
        table.add_row(
            Text(f"   Spark stage {stage.stage_id}", style="dim"),
            ProgressBar(total=max(stage.tasks, 1), completed=stage.done, width=_BAR_WIDTH),
            Text(f"{stage.done:,} of {stage.tasks:,} tasks", style="dim"),
        )
    return table
