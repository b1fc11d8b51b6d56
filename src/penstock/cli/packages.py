"""Load packages as tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from penstock.package.info import human_seconds, human_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package import LoadJobInfo, LoadPackageInfo, TJobState

_COLOURS: Final[Mapping[TJobState, str]] = {
    "new_jobs": "yellow",
    "started_jobs": "cyan",
    "failed_jobs": "red",
    "completed_jobs": "green",
}


def package_table(info: LoadPackageInfo) -> Table:
    """One row for each job, failed ones with what they said below them, and what they come to at the end."""
    jobs = [job for jobs in info.jobs.values() for job in jobs]
    rows = [job.rows for job in jobs if job.rows is not None]
    table = Table(title=escape(_title(info)), caption=escape(_caption(info)), title_justify="left")
    table.show_footer = bool(jobs)
    table.add_column("Table", footer=f"{len(jobs):,} {'job' if len(jobs) == 1 else 'jobs'}", overflow="fold")
    table.add_column("State")
    table.add_column("Tries", justify="right")
    table.add_column("Format")
    table.add_column("Rows", justify="right", footer=f"{sum(rows):,}" if rows else "")
    table.add_column("Size", justify="right", footer=human_size(sum(job.file_size for job in jobs)))
    table.add_column("Age", justify="right")
    for job in jobs:
        _add(table, job)
    return table


def _add(table: Table, job: LoadJobInfo) -> None:
    name = job.job_file_info
    table.add_row(
        Text(name.table_name),
        Text(job.state.removesuffix("_jobs"), style=_COLOURS[job.state]),
        str(name.retry_count + 1),
        Text(name.file_format),
        "" if job.rows is None else f"{job.rows:,}",
        human_size(job.file_size),
        human_seconds(job.elapsed),
    )
    if job.failed_message:
        # What a destination says may look like markup, and must not steer the terminal.
        said = job.failed_message.replace("\x1b", "\N{SYMBOL FOR ESCAPE}")
        table.add_row(Text(said, style=_COLOURS["failed_jobs"]))


def _title(info: LoadPackageInfo) -> str:
    number = "" if info.sequence is None else f", number {info.sequence}"
    return f"Package {info.load_id} of schema {info.schema_name or 'unknown'}: {info.state}{number}"


def _caption(info: LoadPackageInfo) -> str:
    done = info.completed_at
    ended = "" if done is None else f"\ncompleted {done.isoformat(' ', timespec='seconds')}"
    return f"{info.package_path}{ended}"
