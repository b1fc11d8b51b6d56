"""Programs that run in new processes, so that nothing is warm."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def compiled_environment(folder: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment in which all programs keep their compiled modules in a new folder."""
    result = {**(env or os.environ), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    result.pop("PYTHONDONTWRITEBYTECODE", None)
    return result


def wall_seconds(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> float:
    """Return the seconds from the start of a program to its end, as a user waits for it."""
    began = time.monotonic()
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=env)
    seconds = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {done.returncode}:\n{done.stderr}")
    return seconds
