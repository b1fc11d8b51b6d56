"""Stops at every durable step of a run: each change of a file that Python makes, and each commit of a table.

Python tells of every call that changes the names on a disk before it makes it, so nothing in the house has to
know of these stops. What Spark writes for itself, such as data files, counts from the step that names it.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_TARGETS: Final = {"os.link": 1, "os.rename": 1, "os.remove": 0}
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_COMMITS: Final = frozenset(("append", "overwrite", "merge", "recreate", "undo", "truncate"))
_IN_DELETE: Final = "in the middle of a delete"
_VARYING: Final = (
    (re.compile(r"(\d{10}\.\d+)"), "<load>"),
    (re.compile(r"\d{10}\."), "<n>."),
    (re.compile(r"\.[0-9a-f]{8,}\.\d+\."), ".<job>."),
    (re.compile(r"\.[0-9a-f]{8,}\."), ".<job>."),
    (re.compile(r"[0-9a-f]{12,}"), "<hex>"),
    (re.compile(r"(/new_jobs|/started_jobs|/completed_jobs|/\.results)/[a-z_]+\."), r"\1/<table>."),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step, and whether it was about to be made or had just been made."""

    number: int
    what: str

    @property
    def kind(self) -> str:
        """What it is, whichever load, job or file it is about."""
        found = self.what
        for pattern, word in _VARYING:
            found = pattern.sub(word, found)
        return found


@dataclass
class Steps:
    """The steps of what runs below a folder; `on_step` is called at each of them, and may end the run."""

    root: Path
    on_step: Callable[[Step], None]
    seen: list[Step] = field(default_factory=list)
    _deleted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, what: str) -> None:
        """Say what is done next, or was just done."""
        self._deleted = 0
        self._count(what)

    def _count(self, what: str) -> None:
        with self._lock:
            step = Step(len(self.seen), what)
            self.seen.append(step)
        self.on_step(step)

    def record_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Make a step of an event, if it is one."""
        if event == "open":
            place = 0 if isinstance(arguments[2], int) and arguments[2] & _WRITING else None
        else:
            place = _TARGETS.get(event)
        if place is None or not isinstance(arguments[place], str | bytes | os.PathLike):
            return
        path = os.fsdecode(arguments[place])
        if event == "os.remove" and not path.startswith("/"):
            # Deleting a folder goes by names relative to an open folder: one stop is enough for each.
            self._deleted += 1
            if self._deleted == 2:  # one is gone, others are there
                self._count(_IN_DELETE)
            return
        name = path.removeprefix(f"{self.root}/")
        if name == path or "/.tmp-" in name or name.endswith(".beat"):
            return
        self.reach(f"{event.removeprefix('os.')} {name}")


_recording: list[Steps] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _recording and (event == "open" or event in _TARGETS):
        _recording[-1].record_event(event, arguments)


@contextmanager
def recording_steps(steps: Steps) -> Iterator[None]:
    """Hear the steps for the length of a block."""
    if not hasattr(sys, "_penstock_steps"):
        sys.addaudithook(_hook)
        sys._penstock_steps = True  # type: ignore[attr-defined]
    _recording.append(steps)
    try:
        yield
    finally:
        _recording.remove(steps)


@contextmanager
def steps_not_recorded(steps: Steps) -> Iterator[None]:
    """Let somebody else work for the length of a block."""
    _recording.remove(steps)
    try:
        yield
    finally:
        _recording.append(steps)


class ObservedTables:
    """The tables of a lake, with a stop before and after each commit."""

    def __init__(self, tables: Any, steps: Steps) -> None:
        self._tables, self._steps = tables, steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tables, name)
        return self._stopping(name, found) if name in _COMMITS else found

    def _stopping(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def stopping(table: Any, *arguments: Any, **options: Any) -> Any:
            said = f"{name} {getattr(table, 'name', getattr(table, 'table', table))}"
            self._steps.reach(f"before {said}")
            done = call(table, *arguments, **options)
            self._steps.reach(f"after {said}")
            return done

        return stopping
