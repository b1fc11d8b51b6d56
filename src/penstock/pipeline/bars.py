"""Collectors that draw with libraries which people know from elsewhere: tqdm, enlighten, alive_progress."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

from penstock.errors import MissingExtra
from penstock.interfaces.progress import STEP_COUNTERS, Collector


def import_library(name: str) -> Any:
    """A library by its name; where it is not installed the error has the line that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingExtra(extra=name.replace("_", "-"), needed_for=f'progress="{name}"') from error


class BarCollector(Collector, ABC):
    """One bar for each name that is counted, or with `single_bar` one for all rows of a step."""

    def __init__(self, *, single_bar: bool) -> None:
        self._single_bar = single_bar
        self._bars: dict[str, Any] = {}
        self._totals: dict[str, int] = {}

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """Move a bar on; it is made when its name is first told."""
        key = f"{name} {label}" if label else name
        if message is not None:
            self._show_message(f"{key}: {message}")
        if not self._single_bar:
            self._count(key, inc, total, inc_total)
        elif name not in STEP_COUNTERS:
            self._count(self.step or "", inc)

    def mark(self, name: str, state: str, *, size: int | None = None, message: str | None = None) -> None:
        """Say what went wrong; how things stand otherwise is seen by their bars."""
        del size
        if message is not None:
            self._show_message(f"{name} {state}: {message}")

    def _count(self, key: str, inc: int, total: int | None = None, inc_total: int | None = None) -> None:
        if total is not None or inc_total:
            known = self._totals.get(key, 0) if total is None else total
            self._totals[key] = known + (inc_total or 0)
        if key not in self._bars:
            self._bars[key] = self._open(key, self._totals.get(key))
        self._advance(self._bars[key], inc, self._totals.get(key))

    def _stop(self) -> None:
        for bar in self._bars.values():
            self._close(bar)
        self._bars.clear()
        self._totals.clear()
        super()._stop()

    @abstractmethod
    def _open(self, name: str, total: int | None) -> Any:
        """A new bar."""

    @abstractmethod
    def _advance(self, bar: Any, inc: int, total: int | None) -> None:
        """So much further, of as many."""

    @abstractmethod
    def _show_message(self, message: str) -> None:
        """Show a text that is no count."""

    @abstractmethod
    def _close(self, bar: Any) -> None:
        """Leave the bar as it is."""


class tqdm(BarCollector):  # noqa: N801 - users write `progress=penstock.progress.tqdm(colour="green")`
    """Bars of tqdm; what it takes as arguments can be given by name: `tqdm(colour="green")`."""

    def __init__(self, single_bar: bool = False, **tqdm_kwargs: Any) -> None:  # noqa: FBT001, FBT002 - dlt's
        super().__init__(single_bar=single_bar)
        self._tqdm, self._bar_kwargs = import_library("tqdm").tqdm, tqdm_kwargs

    def _open(self, name: str, total: int | None) -> Any:
        said = {"desc": name, "total": total, "unit": "", "leave": False, **self._bar_kwargs}
        return self._tqdm(position=len(self._bars), **said)

    def _advance(self, bar: Any, inc: int, total: int | None) -> None:
        if total is not None:
            bar.total = total
        bar.update(inc)
        bar.refresh()  # the next one may be far away

    def _show_message(self, message: str) -> None:
        self._tqdm.write(message, file=self._bar_kwargs.get("file"))

    def _close(self, bar: Any) -> None:
        bar.close()


class enlighten(BarCollector):  # noqa: N801 - as above
    """Bars of enlighten; what its manager takes as arguments can be given by name."""

    def __init__(self, single_bar: bool = False, **enlighten_kwargs: Any) -> None:  # noqa: FBT001, FBT002 - dlt's
        super().__init__(single_bar=single_bar)
        self._library, self._bar_kwargs = import_library("enlighten"), enlighten_kwargs
        self._manager: Any = None

    def _start(self, step: str) -> None:
        super()._start(step)
        self._manager = self._library.get_manager(**self._bar_kwargs)

    def _stop(self) -> None:
        super()._stop()
        self._manager.stop()

    def _open(self, name: str, total: int | None) -> Any:
        return self._manager.counter(desc=name, total=total, leave=False)

    def _advance(self, bar: Any, inc: int, total: int | None) -> None:
        if total is not None:
            bar.total = total
        bar.update(inc, force=True)  # as above

    def _show_message(self, message: str) -> None:
        print(message, file=self._manager.stream)

    def _close(self, bar: Any) -> None:
        bar.close()


class alive_progress(BarCollector):  # noqa: N801 - as above
    """A bar of alive_progress, which draws one at a time: of all rows, with those of each name beside it."""

    def __init__(self, single_bar: bool = True, **alive_kwargs: Any) -> None:  # noqa: FBT001, FBT002 - dlt's
        super().__init__(single_bar=True)
        del single_bar  # it has no other way
        self._alive_bar, self._bar_kwargs = import_library("alive_progress").alive_bar, alive_kwargs
        self._counts: dict[str, int] = {}
        self._open_bar: Any = None

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,
        label: str | None = None,
    ) -> None:
        """Move the bar on, and tell the counts beside it."""
        del total, inc_total
        super().update(name, inc, message=message, label=label)
        self._counts[name] = self._counts.get(name, 0) + inc
        for bar in self._bars.values():
            bar.text = ", ".join(f"{one} {count:,}" for one, count in self._counts.items())

    def _stop(self) -> None:
        super()._stop()
        self._counts.clear()

    def _open(self, name: str, total: int | None) -> Any:
        self._open_bar = self._alive_bar(total, title=name, **self._bar_kwargs)
        return self._open_bar.__enter__()

    def _advance(self, bar: Any, inc: int, total: int | None) -> None:
        del total
        bar(inc)

    def _show_message(self, message: str) -> None:
        sys.stdout.write(f"{message}\n")  # the library sees to it that this stands above the bar

    def _close(self, bar: Any) -> None:
        del bar
        self._open_bar.__exit__(None, None, None)
