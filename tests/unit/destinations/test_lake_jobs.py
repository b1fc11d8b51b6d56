from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.destinations.lake.job import TableLoadJob
from penstock.errors import SchemaCorruptedException
from penstock.interfaces import AppliedJob

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE = AppliedJob(table="items__tags", version_before=3, version_after=4)
PATH = "started_jobs/items.x.0.reference"


def commits(*done: AppliedJob, then: Exception | None = None) -> Iterator[AppliedJob]:
    yield from done
    if then is not None:
        raise then


def test_a_job_that_ends_well_says_what_it_did() -> None:
    job = TableLoadJob(PATH, commits(DONE))

    assert (job.state(), job.exception(), job.applied()) == ("completed", "", (DONE,))


def test_a_job_that_is_refused_after_a_commit_says_what_it_did() -> None:
    job = TableLoadJob(PATH, commits(DONE, then=SchemaCorruptedException(table="items", reason="so")))

    assert (job.state(), job.applied()) == ("failed", (DONE,))
    assert job.exception().startswith("table items cannot be written: so")


@pytest.mark.parametrize(
    ("done", "error"),
    [((), SchemaCorruptedException(table="items", reason="so")), ((DONE,), ConnectionError("gone"))],
    ids=["nothing was done", "it may pass"],
)
def test_every_other_error_is_raised(done: tuple[AppliedJob, ...], error: Exception) -> None:
    with pytest.raises(type(error)):
        TableLoadJob(PATH, commits(*done, then=error))
