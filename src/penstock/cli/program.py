"""The command `run`: a program in this process, with `dlt` resolved to penstock if asked."""

from __future__ import annotations

import runpy
import sys
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.compat.import_hook import as_dlt
from penstock.config import redact
from penstock.pipeline.pipeline import active_pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run_program(program: Path, arguments: Sequence[str], *, dlt_as_penstock: bool) -> int:
    """Run a program as `python PROGRAM ARGUMENTS` would, and return its exit code.

    The code is 1 after an error, and where the last load of the active pipeline left failed jobs.
    """
    if dlt_as_penstock:
        as_dlt()
    start = datetime.now(UTC)
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        runpy.run_path(str(program), run_name="__main__")
    except Exception as error:
        _print_traceback(error)
        return 1
    return _report_failed_jobs(start)


def _print_traceback(error: Exception) -> None:
    """Print a traceback without the frames of this module, without secrets."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in {
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    }:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    print(redact(text), end="", file=sys.stderr)


def _report_failed_jobs(since: datetime) -> int:
    pipeline = active_pipeline()
    trace = pipeline.last_trace if pipeline is not None else None
    if trace is None or trace.started_at < since:
        return 0
    if trace.last_load_info is None or not trace.last_load_info.has_failed_jobs:
        return 0
    name = trace.pipeline_name
    print(
        f"penstock: jobs of pipeline '{name}' failed: see `penstock pipeline {name} failed-jobs`",
        file=sys.stderr,
    )
    return 1
