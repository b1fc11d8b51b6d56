"""Printing of load packages and their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.output import print_json, print_text, printable
from penstock.interfaces.humanize import human_size
from penstock.package.info import package_job_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.package import LoadJobInfo, LoadPackageInfo

_COLOURS = {
    "planned": "yellow",
    "loaded": "green",
    "aborted": "red",
    "completed_jobs": "green",
    "failed_jobs": "red",
    "started_jobs": "yellow",
}


def print_packages(infos: Iterable[LoadPackageInfo], *, as_json: bool) -> None:
    """Print one line or JSON object per package."""
    if as_json:
        for info in infos:
            print_json(info.asdict())
        return
    listed = list(infos)
    if listed:
        Console(highlight=False).print(packages_table(listed))
    else:
        print_text("There are no packages.")


def print_package(info: LoadPackageInfo, *, as_json: bool) -> None:
    """Print one package with its jobs."""
    if as_json:
        print_json(info.asdict())
    else:
        Console(highlight=False).print(package_table(info))


def print_failed_jobs(infos: Iterable[LoadPackageInfo], *, as_json: bool) -> bool:
    """Print the jobs that failed or are to be retried, with their messages; return whether one exists."""
    failed = [(info.load_id, job) for info in infos for job in _sorted_jobs(info) if job.failed_message]
    for load_id, job in failed:
        if as_json:
            print_json(package_job_document(load_id, job))
        else:
            print_text(f"Package {load_id}: {job.asstr(verbosity=1)}")
    if not failed and not as_json:
        print_text("There are no failed jobs.")
    return bool(failed)


def package_table(info: LoadPackageInfo) -> Table:
    """Return a table of the jobs of one package with their messages, failed ones first."""
    number = "" if info.sequence is None else f", sequence {info.sequence}"
    table = Table(title=Text(f"Package {info.load_id} is {info.state}{number}"), title_justify="left")
    for name in ("state", "table", "job"):
        table.add_column(name, overflow="fold")
    table.add_column("tries", justify="right")
    table.add_column("rows", justify="right")
    table.add_column("size", justify="right")
    for job in _sorted_jobs(info):
        table.add_row(*_job_cells(job))
    return table


def packages_table(infos: Iterable[LoadPackageInfo]) -> Table:
    """Return a table with one line per package."""
    table = Table()
    for name in ("load id", "status"):
        table.add_column(name, no_wrap=True)
    table.add_column("schema", overflow="fold")
    table.add_column("no.", justify="right", no_wrap=True)
    table.add_column("jobs", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    for info in infos:
        table.add_row(
            info.load_id,
            _coloured(info.state),
            info.schema_name or "",
            "" if info.sequence is None else str(info.sequence),
            _job_counts(info),
            size_of(info),
        )
    return table


def size_of(info: LoadPackageInfo) -> str:
    """Return the size of all jobs of a package; empty without jobs."""
    sizes = [job.file_size for jobs in info.jobs.values() for job in jobs]
    return human_size(sum(sizes)) if sizes else ""


def _job_counts(info: LoadPackageInfo) -> str:
    """Return the job counts by state, blocking states first."""
    counts = {
        "failed": len(info.jobs["failed_jobs"]),
        "started": len(info.jobs["started_jobs"]),
        "new": len(info.jobs["new_jobs"]),
        "done": len(info.jobs["completed_jobs"]),
    }
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)


def _sorted_jobs(info: LoadPackageInfo) -> list[LoadJobInfo]:
    jobs = [job for jobs in info.jobs.values() for job in jobs]
    return sorted(jobs, key=lambda job: (job.state != "failed_jobs", job.job_file_info))


def _job_cells(job: LoadJobInfo) -> tuple[Text, ...]:
    name = job.job_file_info
    state = _coloured(job.state.removesuffix("_jobs"), job.state)
    if job.failed_message:
        state = Text.assemble(state, f"\n{printable(job.failed_message)}")
    return (
        state,
        Text(name.table_name),
        Text(name.job_id()),
        Text(str(name.retry_count + 1)),
        Text("" if job.rows is None else f"{job.rows:,}"),
        Text(human_size(job.file_size)),
    )


def _coloured(text: str, kind: str | None = None) -> Text:
    return Text(text, style=_COLOURS.get(kind or text, ""))
