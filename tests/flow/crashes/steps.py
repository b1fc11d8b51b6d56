"""The durable steps of a run: each change of a file that Python makes, and each commit of a table.

Python raises an audit event before each call that changes names on a disk, so the package needs no hook for
these steps. Files that Spark writes, such as data files, count from the step that names them.
"""

from __future__ import annotations

import re
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.program_steps import changed_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_COMMITS: Final = {
    **{name: name for name in ("append", "overwrite", "merge", "recreate", "undo", "truncate")},
    "commit_job_files": "append",
}
"""The methods that commit, with the names of their steps."""
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
    """One step, with whether it is about to happen or has just happened."""

    number: int
    what: str

    @property
    def kind(self) -> str:
        """The text of the step without ids of loads, jobs and files."""
        result = self.what
        for pattern, word in _VARYING:
            result = pattern.sub(word, result)
        return result


@dataclass
class Steps:
    """The steps of a run below a folder; `on_step` is called at each of them, and may end the run."""

    root: Path
    on_step: Callable[[Step], None]
    seen: list[Step] = field(default_factory=list)
    _deleted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, what: str) -> None:
        """Record a step that is about to happen, or has just happened."""
        self._deleted = 0
        self._count(what)

    def _count(self, what: str) -> None:
        with self._lock:
            step = Step(len(self.seen), what)
            self.seen.append(step)
        self.on_step(step)

    def record_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an audit event if it is a step."""
        path = changed_path(event, arguments)
        if path is None:
            return
        if event == "os.remove" and not path.startswith("/"):
            # A folder is deleted by names relative to an open folder: one step is enough for each.
            self._deleted += 1
            if self._deleted == 2:  # one file is deleted, others exist
                self._count(_IN_DELETE)
            return
        name = path.removeprefix(f"{self.root}/")
        if name == path or "/.tmp-" in name or name.endswith(".beat"):
            return
        self.reach(f"{event.removeprefix('os.')} {name}")


_recording: list[Steps] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _recording:
        _recording[-1].record_event(event, arguments)


@contextmanager
def recording_steps(steps: Steps) -> Iterator[None]:
    """Record steps during a block."""
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
    """Record no steps during a block, in which another process works."""
    _recording.remove(steps)
    try:
        yield
    finally:
        _recording.append(steps)


class ObservedTables:
    """The tables of a lake, with a step before and after each commit."""

    def __init__(self, tables: Any, steps: Steps) -> None:
        self._tables, self._steps = tables, steps

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._tables, name)
        return self._with_steps(_COMMITS[name], result) if name in _COMMITS else result

    def _with_steps(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def commit(table: Any, *arguments: Any, **options: Any) -> Any:
            text = f"{name} {getattr(table, 'name', getattr(table, 'table', table))}"
            self._steps.reach(f"before {text}")
            done = call(table, *arguments, **options)
            self._steps.reach(f"after {text}")
            return done

        return commit
