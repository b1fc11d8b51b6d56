"""A process of `penstock demo --kill`: a program that announces its durable steps, and waits at one of them.

Python raises an audit event before each call that opens, links, renames or removes a file, so neither the
program nor penstock needs a hook. A file that delta-rs writes, such as a commit, counts from the next step.

The module is started by its path: an import of the command line would double the time of a short run.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from penstock.package.layout import EXTRACTED_FILE, NORMALIZED_FILE, PACKAGES_FOLDER

RunStage = Literal["extract", "normalize", "load"]
_PATH_ARGUMENTS: Final = {"open": 0, "os.link": 1, "os.rename": 1, "os.remove": 0}
"""The position of the path that an event changes."""
_WRITE_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_LAST_FILES: Final[dict[str, RunStage]] = {EXTRACTED_FILE: "normalize", NORMALIZED_FILE: "load"}
"""The files that end a stage, with the stage after it."""
_NO_STEP: Final = re.compile(r"/\.tmp-|\.new$|/traces/|/lease/")
"""Temporary files, and files whose number differs from run to run."""
_PACKAGE_PATH: Final = re.compile(rf".*/_dlt_pkg/[^/]+/({PACKAGES_FOLDER}/\d+\.\d+/)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableStep:
    """A change of a file that a run is about to make."""

    stage: RunStage
    number: int
    """The number of the step in its stage."""
    change: Literal["writes", "deletes"]
    path: str
    """The path in the package or in the folder of the program."""


class StepAnnouncer:
    """Writes each step of this process below a folder into a pipe; waits at the step to stop at."""

    def __init__(self, folder: Path, pipe: int, stop_at: tuple[str, int] | None) -> None:
        self._root, self._pipe, self._stop_at = f"{folder.resolve()}/", pipe, stop_at
        self._stage: RunStage = "extract"
        self._number = 0
        self._lock = threading.Lock()

    def receive_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Announce an audit event if it is a step."""
        path = changed_path(event, arguments)
        if path is not None and path.startswith(self._root) and not _NO_STEP.search(path):
            with self._lock:
                self._announce(path.removeprefix(self._root), is_removal=event == "os.remove")

    def _announce(self, path: str, *, is_removal: bool) -> None:
        self._number += 1
        step = DurableStep(
            stage=self._stage,
            number=self._number,
            change="deletes" if is_removal else "writes",
            path=_PACKAGE_PATH.sub("", path),
        )
        os.write(self._pipe, f"{json.dumps(asdict(step))}\n".encode())
        if self._stop_at == (step.stage, step.number):
            os.read(sys.stdin.fileno(), 1)  # until this process is killed, or the one that started it ends
            os._exit(1)
        next_stage = _LAST_FILES.get(step.path)
        if next_stage is not None:
            self._stage, self._number = next_stage, 0


def changed_path(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the path of the file that an audit event is about to change; None for other events."""
    position = _PATH_ARGUMENTS.get(event)
    if position is None or (event == "open" and not _opens_for_writing(arguments[2])):
        return None
    path = arguments[position]
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def _opens_for_writing(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & _WRITE_FLAGS)


def main(program: str, folder: str, pipe: str, *stop_at: str) -> None:
    """Run a program; the words after the number of the pipe are a stage and the number of a step."""
    target = (stop_at[0], int(stop_at[1])) if stop_at else None
    sys.addaudithook(StepAnnouncer(Path(folder), int(pipe), target).receive_event)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
