"""A package as a table on a terminal."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console

from penstock.cli.packages import package_table
from penstock.package import LoadJobInfo, LoadPackageInfo, Packages, ParsedLoadJobFileName, TJobState
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2024, 1, 2, 12, 0, 5, tzinfo=UTC)


def job(
    name: str, state: TJobState, *, size: int, rows: int | None, message: str | None = None
) -> LoadJobInfo:
    return LoadJobInfo(
        state=state,
        file_path=f"lake/packages/17.5/{state}/{name}",
        file_size=size,
        created_at=NOON,
        elapsed=75.0,
        job_file_info=ParsedLoadJobFileName.parse(name),
        failed_message=message,
        rows=rows,
    )


def package(*jobs: LoadJobInfo, completed_at: datetime | None = None) -> LoadPackageInfo:
    states: tuple[TJobState, ...] = ("new_jobs", "failed_jobs", "started_jobs", "completed_jobs")
    return LoadPackageInfo(
        load_id="17.5",
        package_path="lake/[packages]/17.5",
        state="normalized" if completed_at is None else "loaded",
        schema=Schema("shop"),
        schema_update={},
        completed_at=completed_at,
        jobs={state: [job for job in jobs if job.state == state] for state in states},
        sequence=7,
    )


def rendered(info: LoadPackageInfo, *, width: int = 120) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(package_table(info))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def cells(lines: list[str]) -> list[list[str]]:
    """The rows of the table's body and its footer, without its lines."""
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_every_job_has_a_row_with_its_state_tries_rows_and_size() -> None:
    info = package(
        job("items.a.0.reference", "completed_jobs", size=1536, rows=1_234_567),
        job("items__tags.b.2.parquet", "new_jobs", size=10 * 1024**4, rows=None),
        job("orders.c.0.reference", "started_jobs", size=0, rows=0),
    )

    assert cells(rendered(info)) == [
        ["items__tags", "new", "3", "parquet", "", "10.0 TB", "1 min 15 s"],
        ["orders", "started", "1", "reference", "0", "0 B", "1 min 15 s"],
        ["items", "completed", "1", "reference", "1,234,567", "1.5 KB", "1 min 15 s"],
        ["3 jobs", "", "", "", "1,234,567", "10.0 TB", ""],
    ]


def test_the_title_says_which_package_it_is_and_how_far_it_has_come() -> None:
    pending, loaded = rendered(package()), rendered(package(completed_at=NOON))

    assert pending[0].strip() == "Package 17.5 of schema shop: normalized, number 7"
    assert loaded[0].strip() == "Package 17.5 of schema shop: loaded, number 7"
    assert [line.strip() for line in loaded[-2:]] == [
        "lake/[packages]/17.5",
        "completed 2024-01-02 12:00:05+00:00",
    ]
    assert "completed" not in "".join(pending)


def test_a_failed_job_is_followed_by_what_it_said_word_for_word() -> None:
    said = "column [red]price[/red] is [/] full\nsecond line \x1b[2J"
    lines = rendered(package(job("items.a.1.reference", "failed_jobs", size=40, rows=2, message=said)))

    assert [row[0] for row in cells(lines)] == [
        "items",
        "column [red]price[/red] is [/] full",
        "second line \N{SYMBOL FOR ESCAPE}[2J",
        "1 job",
    ]
    assert cells(lines)[0][1:3] == ["failed", "2"]


def test_a_package_without_jobs_is_a_table_without_rows() -> None:
    assert cells(rendered(package())) == []


def test_a_narrow_terminal_shows_long_names_to_their_end() -> None:
    name = "orders__" + "lines__" * 12
    lines = rendered(package(job(f"{name}.a.0.reference", "new_jobs", size=1, rows=1)), width=80)

    assert "".join(row[0] for row in cells(lines)) == f"{name}1 job"
    assert all(len(line) <= 80 for line in lines)


def test_a_package_on_a_disk_is_shown_as_it_stands(tmp_path: Path) -> None:
    packages = Packages.at(str(tmp_path))
    packages.normalized.create_package("17.5", schema=Schema("shop"))
    jobs = packages.package("17.5").jobs
    for name in ("items.a.0.reference", "orders.b.0.reference"):
        jobs.add(name, b"x" * 2048)
        jobs.start(name)
    jobs.complete("items.a.0.reference")
    jobs.fail("orders.b.0.reference", "the table is gone")

    rows = cells(rendered(packages.normalized.get_load_package_info("17.5")))

    assert [row[:2] for row in rows] == [
        ["orders", "failed"],
        ["the table is gone", ""],
        ["items", "completed"],
        ["2 jobs", ""],
    ]
    assert rows[0][5] == "2.0 KB"
