"""Python environments without this project, built once in the cache, in fixed versions."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dev.parts.folders import PartFolders
from dev.parts.tools import download, find_tool, run_tool

DLT: Final = ("dlt[filesystem,deltalake,duckdb,postgres]==1.31.0", "pandas", "pydantic", "sqlglot<28")
"""The reference that runs beside penstock and must have the same results; it reads by this sqlglot."""
DLT_PROGRAMS: Final = (*DLT, "pendulum", "sqlalchemy<2.1", "duckdb<1.5")
"""dlt with the packages of the programs of `dev.dlt_programs`."""
DLT_BENCHMARKS: Final = (*DLT, "connectorx", "sqlalchemy<2.1", "duckdb<1.5")
"""dlt with the packages of its fastest reader of SQL, and those by which it prints a table."""


def ensure_environment(
    folders: PartFolders, name: str, *, python: str, packages: Sequence[str], constraints: str = ""
) -> Path:
    """Return the Python of an environment with the packages; the same packages reuse the environment."""
    wishes = "\n".join((python, *packages, constraints))
    folder = folders.cache / f"{name}-{hashlib.sha256(wishes.encode()).hexdigest()[:12]}"
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


def dlt_python(folders: PartFolders) -> Path:
    """Return a Python with dlt, in the version of the recorded comparisons."""
    return ensure_environment(folders, "dlt", python="3.11", packages=DLT)


def dlt_programs_python(folders: PartFolders) -> Path:
    """Return a Python with dlt and the packages that the programs of `dev.dlt_programs` import."""
    return ensure_environment(folders, "dlt-programs", python="3.11", packages=DLT_PROGRAMS)


def dlt_benchmarks_python(folders: PartFolders) -> Path:
    """Return a Python with dlt and the packages that the benchmarks need."""
    return ensure_environment(folders, "dlt-benchmarks", python="3.11", packages=DLT_BENCHMARKS)
