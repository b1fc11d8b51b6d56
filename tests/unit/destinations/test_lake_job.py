from __future__ import annotations

import pytest

from penstock.destinations.lake.job import TableLoadJob
from penstock.errors import SchemaCorruptedException
from penstock.interfaces import AppliedJob

COMMIT = AppliedJob(table="items__tags", version_before=3, version_after=4)
REFUSAL = SchemaCorruptedException(table="items", reason="so")
PATH = "started_jobs/items.x.0.reference"


def run_job(job: TableLoadJob, *commits: AppliedJob, error: Exception | None = None) -> None:
    with job.partial_failure():
        for commit in commits:
            job.record(commit)
        if error is not None:
            raise error


def test_a_completed_job_reports_its_commits() -> None:
    job = TableLoadJob(PATH)

    run_job(job, COMMIT)

    assert (job.state(), job.exception(), job.applied()) == ("completed", "", (COMMIT,))


def test_a_job_that_is_refused_after_a_commit_fails_and_reports_the_commit() -> None:
    job = TableLoadJob(PATH)

    run_job(job, COMMIT, error=REFUSAL)

    assert (job.state(), job.applied()) == ("failed", (COMMIT,))
    assert job.exception().startswith("table items cannot be written: so")


@pytest.mark.parametrize(
    ("commits", "error"),
    [((), REFUSAL), ((COMMIT,), ConnectionError("gone"))],
    ids=["no commit was made", "a retry may succeed"],
)
def test_every_other_error_is_raised(commits: tuple[AppliedJob, ...], error: Exception) -> None:
    with pytest.raises(type(error)):
        run_job(TableLoadJob(PATH), *commits, error=error)
