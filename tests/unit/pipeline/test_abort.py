"""Aborting pending packages, and failing single jobs of a load."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import LoadPackageAlreadyCompleted, LoadPackageNotFound, UsageError
from penstock.interfaces import ParsedLoadJobFileName
from penstock.package import LoadJobInfo, LoadPackageInfo, Packages
from penstock.pipeline.abort import packages_from, plan_abort

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 15, tzinfo=UTC)
JOB = "items.5c1c2f0d11.0.reference"


def job(name: str, state: Any = "new_jobs", message: str | None = None) -> LoadJobInfo:
    return LoadJobInfo(state, name, 1, NOW, 0.0, ParsedLoadJobFileName.parse(name), message)


def package(load_id: str, state: Any, *jobs: LoadJobInfo, sequence: int | None = None) -> LoadPackageInfo:
    by_state: dict[Any, list[LoadJobInfo]] = {}
    for each in jobs:
        by_state.setdefault(each.state, []).append(each)
    return LoadPackageInfo(load_id, "folder", state, None, {}, None, by_state, sequence=sequence)


def test_a_plan_names_packages_and_the_jobs_of_the_load_that_has_begun() -> None:
    load = package(
        "1.0",
        "normalized",
        job("a.x.0.reference"),
        job("b.x.1.reference", message="retry: terminal\nno column"),
        job("c.x.2.reference", message="retry: transient\nno answer"),
        job("d.x.0.reference", "started_jobs"),
        job("e.x.0.reference", "completed_jobs"),
        job("f.x.0.reference", "failed_jobs", "refused"),
        sequence=7,
    )

    plan = plan_abort(packages_from([package("3.0", "extracted"), package("2.0", "normalized"), load], None))

    assert plan == {
        "package_to_abort": {
            "load_id": "1.0",
            "terminal_jobs": ["f.x.0.reference", "b.x.1.reference"],
            "transient_jobs": ["c.x.2.reference"],
            "interrupted_jobs": ["d.x.0.reference"],
            "committed_jobs": ["e.x.0.reference"],
        },
        "packages_to_delete": ["2.0"],
        "extracted_packages_to_delete": ["3.0"],
        "restore_from_load_id": "1.0",
    }


def test_a_plan_from_an_id_keeps_older_packages() -> None:
    pending = [
        package("1.0", "normalized", sequence=7),
        package("2.0", "normalized"),
        package("3.0", "extracted"),
    ]

    plan = plan_abort(packages_from(pending, "2.0"))

    assert plan is not None
    assert (plan["package_to_abort"], plan["packages_to_delete"]) == (None, ["2.0"])
    assert plan["restore_from_load_id"] == "2.0"
    assert plan_abort([]) is None


@pytest.fixture
def pipeline(tmp_path: Path) -> penstock.Pipeline:
    return penstock.pipeline("shop", pipelines_dir=str(tmp_path))


def test_packages_are_aborted_from_an_id_on(pipeline: penstock.Pipeline) -> None:
    first, second, third = (
        pipeline.extract([{"n": number}], table_name="items").loads_ids[0] for number in range(3)
    )

    plan = pipeline.abort_packages(second, dry_run=True)
    assert pipeline.list_extracted_load_packages() == [first, second, third]
    assert pipeline.abort_packages(second) == plan
    assert plan is not None
    assert plan["extracted_packages_to_delete"] == [second, third]
    assert pipeline.list_extracted_load_packages() == [first]
    assert pipeline.abort_packages() is not None
    assert pipeline.abort_packages() is None
    with pytest.raises(LoadPackageNotFound):
        pipeline.abort_packages(second)


@pytest.fixture
def retried(pipeline: penstock.Pipeline) -> tuple[Packages, str]:
    """A pending package, with a job that was tried once and one that was not."""
    info = pipeline.extract([{"n": 1}], table_name="items")
    packages = Packages.at(info.location)
    load_id = info.loads_ids[0]
    storage, jobs = packages.normalized_packages, packages.package(load_id).jobs
    for name in (JOB, "tags.5c1c2f0d11.0.reference"):
        jobs.add(name, b"{}")
    packages.package(load_id).mark_normalized({})
    storage.start_job(load_id, JOB)
    storage.retry_job(load_id, JOB, "no answer", "transient")
    return packages, load_id


def test_a_job_is_failed_and_tried_again(pipeline: penstock.Pipeline, retried: tuple[Packages, str]) -> None:
    _, load_id = retried

    ((name, state),) = pipeline.list_pending_retry_jobs_in_package(load_id)
    path = pipeline.fail_pending_job(load_id, name)
    (failed,) = pipeline.list_failed_jobs_in_package(load_id)
    again = pipeline.retry_failed_job(load_id, name)

    assert (name, state) == ("items.5c1c2f0d11.1.reference", "new_jobs")
    assert path.endswith(f"{load_id}/failed_jobs/{name}")
    assert (failed.state, failed.failed_message) == ("failed_jobs", "retry: transient\nno answer")
    assert again.endswith(f"{load_id}/new_jobs/items.5c1c2f0d11.2.reference")
    assert [state for _, state in pipeline.list_pending_retry_jobs_in_package(load_id)] == ["new_jobs"]


def test_jobs_that_cannot_be_moved_are_refused(
    pipeline: penstock.Pipeline, retried: tuple[Packages, str]
) -> None:
    packages, load_id = retried
    storage = packages.normalized_packages

    with pytest.raises(UsageError, match="was never tried"):
        pipeline.fail_pending_job(load_id, "tags.5c1c2f0d11.0.reference")
    storage.start_job(load_id, "tags.5c1c2f0d11.0.reference")
    storage.fail_job(load_id, "tags.5c1c2f0d11.0.reference", "left out")
    with pytest.raises(UsageError, match="its load has left it out"):
        pipeline.retry_failed_job(load_id, "tags.5c1c2f0d11.0.reference")
    storage.complete_loading_package(load_id, "loaded")
    with pytest.raises(LoadPackageAlreadyCompleted):
        pipeline.fail_pending_job(load_id, "items.5c1c2f0d11.1.reference")
