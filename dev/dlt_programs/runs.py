"""Processes that run a program with one of the tools, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dev.dlt_programs.catalog import FOLDER, Program
from dev.dlt_programs.imports import replace_in_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAYER: Final = ("play.py", "program.py", "server.py")
_QUIET: Final = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR", "PYTHONUNBUFFERED": "1"}
_SEED: Final = {"PYTHONHASHSEED": "0"}
"""Some sources iterate over sets, whose order is part of the rows."""


class ProgramFailed(Exception):
    """A program ended with an error; the message has the end of its output."""


@dataclass(frozen=True)
class Checkouts:
    """The two repositories, and the folder for runs."""

    verified_sources: Path
    dlt: Path
    work: Path


def run_with_dlt(program: Program, checkouts: Checkouts, python: str, env: Mapping[str, str]) -> Path:
    """Run a program with dlt and return the folder of its contents."""
    folder = checkouts.work / program.name / "dlt"
    script = _prepare(program, checkouts, folder)
    command = [python, "play.py", program.name, str(folder / "content")]
    return _run(command, folder, script, {**env, "DLT_DATA_DIR": str(folder / "home")})


def run_with_penstock(program: Program, checkouts: Checkouts, env: Mapping[str, str]) -> Path:
    """Run a program with penstock, in the way of its imports, and return the folder of its contents."""
    folder = checkouts.work / program.name / "penstock"
    script = _prepare(program, checkouts, folder)
    starter = [str(Path(sys.executable).with_name("penstock")), "run", "play.py", "--as-dlt"]
    if program.imports == "replaced":
        replace_in_folder(folder)
        starter = [sys.executable, "play.py"]
    # The programs load into DuckDB: the settings make that name a lake of Delta tables.
    own = {
        "PENSTOCK_HOME": str(folder / "home"),
        "DESTINATION__DUCKDB__DESTINATION_TYPE": "delta",
        "DESTINATION__DUCKDB__BUCKET_URL": str(folder / "lake"),
    }
    return _run([*starter, program.name, str(folder / "content")], folder, script, {**env, **own})


def _prepare(program: Program, checkouts: Checkouts, folder: Path) -> Path | None:
    """Copy program, driver and player into the empty folder of the run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in PLAYER:
        shutil.copy(FOLDER / name, folder)
    shutil.copy(FOLDER / "drivers" / f"{program.name}.py", folder)
    return program.copy_to(folder, checkouts.verified_sources, checkouts.dlt)


def _run(command: list[str], folder: Path, script: Path | None, env: Mapping[str, str]) -> Path:
    settings = {**os.environ, **_QUIET, **_SEED, **env, "PROGRAMS_SCRIPT": str(script or "")}
    with (folder / "output.txt").open("w") as output:
        done = subprocess.run(
            command, cwd=folder, env=settings, check=False, stdout=output, stderr=subprocess.STDOUT
        )
    if done.returncode:
        text = (folder / "output.txt").read_text("utf-8", errors="replace")
        raise ProgramFailed(f"{' '.join(command[:5])} ended with {done.returncode}:\n{text[-3000:]}")
    return folder / "content"
