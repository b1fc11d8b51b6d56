from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from tests.command_documents import read_documents
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.packages import package_table, packages_table
from penstock.errors import LoadPackageNotFound
from penstock.package import Packages
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

LOAD_ID = "1794709965.511098"
JOBS = ("items.5c1c2f0d11.0.reference", "orders.5c1c2f0d11.0.reference")


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    found = Packages.at(str(tmp_path))
    storage = found.normalized_packages
    storage.create_package(LOAD_ID, schema=Schema("shop"))
    for job in JOBS:
        found.package(LOAD_ID).jobs.add(job, b"{}")
        storage.start_job(LOAD_ID, job)
    again = storage.retry_job(LOAD_ID, JOBS[1], "timed out")
    storage.start_job(LOAD_ID, again)
    storage.fail_job(LOAD_ID, again, "\x1b[31mno such [bold]column[/bold]")
    storage.complete_job(LOAD_ID, JOBS[0])
    found.extracted_packages.create_package("1794709966.000001")
    return found


def rendered(table: Table) -> str:
    out = StringIO()
    Console(file=out, width=120, force_terminal=False).print(table)
    return out.getvalue()


def test_the_jobs_of_a_package_are_a_table_with_the_failed_ones_first(packages: Packages) -> None:
    lines = rendered(package_table(packages.normalized_packages.get_load_package_info(LOAD_ID))).splitlines()

    assert lines[0].strip() == f"Package {LOAD_ID} is normalized"
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]
    assert cells[0] == ["failed", "orders", "orders.5c1c2f0d11.reference", "2", "", "2 B"]
    assert cells[1][0] == "\ufffd[31mno such [bold]column[/bold]", "a message is text and nothing else"
    assert cells[2] == ["completed", "items", "items.5c1c2f0d11.reference", "1", "", "2 B"]


def test_packages_are_a_table_with_a_line_for_each(packages: Packages) -> None:
    infos = [
        packages.normalized_packages.get_load_package_info(load_id)
        for load_id in (LOAD_ID, "1794709966.000001")
    ]

    lines = [line for line in rendered(packages_table(infos)).splitlines() if "│" in line]

    assert [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines] == [
        [LOAD_ID, "normalized", "shop", "", "1 failed, 1 done", "4 B"],
        ["1794709966.000001", "extracted", "", "", "", ""],
    ]


def test_the_command_shows_all_packages_or_the_jobs_of_one(packages: Packages) -> None:
    everything = CliRunner().invoke(app, ["packages", packages.store.root])
    single = CliRunner().invoke(app, ["packages", packages.store.root, LOAD_ID, "--json"])

    assert everything.exit_code == single.exit_code == 0
    assert LOAD_ID in everything.output
    assert "1794709966.000001" in everything.output
    (document,) = read_documents("packages", single.stdout)
    assert [job["state"] for job in document["jobs"]] == ["failed_jobs", "completed_jobs"]


def test_an_unknown_package_is_an_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["packages", str(tmp_path), "17.5"])

    assert isinstance(done.exception, LoadPackageNotFound)
