"""The live view in a terminal: what a step counts, redrawn while it goes on."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from rich import get_console
from rich.errors import LiveError
from rich.live import Live

from penstock.interfaces.progress import Collector
from penstock.pipeline.liveview import StepView, render_view, summary_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, RenderableType

    from penstock.interfaces.progress import SparkStage

_TERMINAL_LOCK: Final = threading.Lock()
"""Held by the one view that is drawn. Pipelines may run side by side, and a terminal has one end."""


class LiveCollector(Collector):
    """Draws the step that goes on, and leaves one line of it. A second one beside it keeps quiet.

    Texts that are printed meanwhile stand above it.
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
        """Whether there is anything to draw on."""
        return self.console.is_terminal or self.console.is_jupyter

    @property
    def is_ascii_only(self) -> bool:
        """Whether the terminal knows ASCII only."""
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
        """Count; what is drawn next has it. A message is shown at once, above the view."""
        key = f"{name} {label}" if label else name
        with self._lock:
            if self._view is not None:
                self._view.count(key, inc, now=self._clock(), total=total, inc_total=inc_total)
        if message is not None and self._live is not None:
            self.console.print(f"{key}: {message}", markup=False, highlight=False)

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Note how a resource or a table stands."""
        with self._lock:
            if self._view is not None:
                self._view.mark(name, state, now=self._clock(), size=size, message=message)

    def stages(self, found: Sequence[SparkStage]) -> None:
        """Note which stages of Spark are under way."""
        with self._lock:
            if self._view is not None:
                self._view.stages = tuple(found)

    def render(self) -> RenderableType:
        """The view as it is now."""
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
        except LiveError:  # somebody else draws on this console
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
