"""dlt in a process and Python environment of its own, which answers commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import TracebackType

PYTHON: Final = "PENSTOCK_BENCH_DLT_PYTHON"
"""The variable that names a Python with dlt and what the benchmarks need."""
_PROGRAM: Final = Path(__file__).with_name("dlt_side.py")


def dlt_environment() -> dict[str, str]:
    """Return the environment of a process that runs dlt."""
    quiet = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
    return {**{name: text for name, text in os.environ.items() if name != "PYTHONPATH"}, **quiet}


class DltProcess:
    """A process that stays warm between the rounds."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [os.environ[PYTHON], str(_PROGRAM), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dlt_environment(),
        )

    def __enter__(self) -> DltProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def run(self, action: str, **arguments: Any) -> dict[str, float]:
        """Run one action of `dlt_side.py`; return what it measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"action": action, **arguments}) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                result: dict[str, float] = json.loads(line)
                return result
        raise SystemExit(f"dlt ended in {action}: see its error above")
