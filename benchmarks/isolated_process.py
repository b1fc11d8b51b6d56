"""Measurements in separate processes, so that one size does not warm up or fill the memory of the next."""

from __future__ import annotations

import json
import resource
import subprocess
import sys


def in_process(module: str, *arguments: str) -> dict[str, float]:
    """Run a module in a fresh process, and return the JSON in its last line."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def peak_mebibytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def growth(measured: list[dict[str, float]], *, allowed: float) -> bool:
    """Print the ratio of the largest to the smallest peak; return whether it is allowed."""
    ratio = measured[-1]["peak"] / measured[0]["peak"]
    print(f"largest to smallest: {ratio:.2f} (allowed {allowed})")
    return ratio <= allowed
