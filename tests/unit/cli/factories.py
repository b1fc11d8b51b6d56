"""Pipelines in various states, and calls of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.command_documents import read_documents
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.state import new_state
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

STUCK = "1794709965.511098"
JOBS = ("items.5c1c2f0d11.0.reference", "orders.5c1c2f0d11.0.reference")
SECRET = "lovelace-1843"


@penstock.resource
def orders() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state.update(page=7, api_key=SECRET, url=f"postgresql://ada:{SECRET}@db/x", seen=["a"])
    yield [{"id": 1}, {"id": 2}]


def invoke(*words: str) -> Result:
    """Run `penstock pipeline` with these words."""
    return CliRunner().invoke(app, ["pipeline", *words])


def json_output(*words: str, exit_code: int = 0) -> list[dict[str, Any]]:
    """Return the objects that a command prints with `--json`."""
    done = invoke(*words, "--json")
    assert done.exit_code == exit_code, done.exception
    return read_documents(f"pipeline {_command(*words)}", done.stdout)


def _command(first: str, second: str = "--", *_: str) -> str:
    """Return the command of these words: a pipeline may be called like a command."""
    return first if second.startswith("-") else second


def extract_package(name: str = "shop") -> str:
    """Extract a package without a destination; return its id."""
    pipeline = penstock.pipeline(name)
    pipeline.extract(orders())
    return pipeline.list_extracted_load_packages()[-1]


def make_stuck_package(tmp_path: Path, disk: Path) -> Packages:
    """Make a pipeline with a package in which a job failed."""
    state = new_state(
        pipeline_name="shop",
        dataset_name="raw",
        schema_name="shop",
        destination_type="dlt.destinations.filesystem",
    )
    workdir = WorkDir(disk / "shop")
    workdir.save(state=state, schema=Schema("shop").to_dict())
    workdir.save_last_target({"destination_name": "delta", "dataset_name": "raw"})
    packages = Packages.at(str(tmp_path / "lake" / "raw" / "_dlt_pkg" / "shop"))
    storage = packages.normalized_packages
    storage.create_package(STUCK, schema=Schema("shop"))
    packages.package(STUCK).mark_extracted(ExtractManifest(schema_name="shop").to_dict())
    for job in JOBS:
        packages.package(STUCK).jobs.add(job, b"{}")
        storage.start_job(STUCK, job)
    storage.complete_job(STUCK, JOBS[0])
    storage.retry_job(STUCK, JOBS[1], "no such \x1b[1mcolumn", "terminal")
    return packages


def location_options(tmp_path: Path) -> tuple[str, str]:
    return ("--location", str(tmp_path / "lake"))
