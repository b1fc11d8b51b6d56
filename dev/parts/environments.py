"""Python environments of others: made once in the cache, in fixed versions, without this project."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dev.parts.places import Places
from dev.parts.tools import download, find_tool, run_tool

DLT: Final = ("dlt[filesystem,deltalake,duckdb]==1.31.0",)
"""The judge: run beside penstock where both must come to the same result."""


def ensure_environment(
    places: Places, name: str, *, python: str, packages: Sequence[str], constraints: str = ""
) -> Path:
    """Give the Python of an environment with the packages; the same wishes find the same environment."""
    wishes = "\n".join((python, *packages, constraints))
    folder = places.cache / f"{name}-{hashlib.sha256(wishes.encode()).hexdigest()[:12]}"
    executable, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        uv = str(find_tool("uv"))
        run_tool([uv, "venv", "-q", "--no-project", "--python", python, str(folder)])
        bounds = folder / "constraints.txt"
        bounds.write_text(constraints)
        download([uv, "pip", "install", "-q", "--python", str(executable), "-c", str(bounds), *packages])
        complete.touch()
    return executable


def dlt_python(places: Places) -> Path:
    """Give a Python that has dlt, in the version that the comparisons were made with."""
    return ensure_environment(places, "dlt", python="3.11", packages=DLT)
