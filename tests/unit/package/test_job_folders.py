"""Moves of jobs, complete and interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import JobNotFound
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package import Packages, PackageStorage
from penstock.package.control_file import encode_control
from penstock.package.job_folders import ListedJob, merge_listings
from penstock.package.layout import JOB_STATES
from penstock.package.local_files import DirEntry

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from penstock.package import TJobState

LOAD_ID, JOB = "17.5", "items.5c1c2f0d11.0.reference"
NAME = ParsedLoadJobFileName.parse(JOB)
placed = st.builds(
    lambda state, retries: ListedJob(state=state, name=NAME._replace(retry_count=retries)),
    st.sampled_from(JOB_STATES),
    st.integers(0, 3),
)


@pytest.fixture(params=["disk", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> PackageStorage:
    root = str(tmp_path) if request.param == "disk" else f"memory://{tmp_path.name}"
    found = Packages.at(root).normalized_packages
    found.create_package(LOAD_ID)
    found.package(LOAD_ID).jobs.add(JOB, b'{"a":1}')
    return found


@given(st.lists(placed, min_size=1, max_size=8, unique_by=lambda one: one.path))
def test_one_file_of_a_job_counts_and_the_others_are_stale(files: list[ListedJob]) -> None:
    listings: dict[TJobState, list[DirEntry]] = {state: [] for state in JOB_STATES}
    for one in files:
        listings[one.state].append(DirEntry(one.name.file_name(), 0, 0.0, False))

    found = merge_listings(listings)

    counting = found.jobs[NAME.job_id()]
    assert len(found.jobs) == 1
    assert sorted([counting.path, *(one.path for one in found.stale)]) == sorted(one.path for one in files)
    assert not any(one.supersedes(counting) for one in files)


@given(st.lists(placed, min_size=2, max_size=8, unique_by=lambda one: one.path), st.randoms())
def test_the_order_of_listings_does_not_matter(files: list[ListedJob], random: Random) -> None:
    def counting(order: list[ListedJob]) -> str:
        listings: dict[TJobState, list[DirEntry]] = {one.state: [] for one in order}
        for one in order:
            listings[one.state].append(DirEntry(one.name.file_name(), 0, 0.0, False))
        return merge_listings(listings).jobs[NAME.job_id()].path

    shuffled = list(files)
    random.shuffle(shuffled)

    assert counting(shuffled) == counting(files)


def test_completed_is_the_final_state_of_a_job() -> None:
    done = ListedJob(state="completed_jobs", name=NAME)
    later = ListedJob(state="failed_jobs", name=NAME._replace(retry_count=9))

    assert done.supersedes(later)
    assert not later.supersedes(done)


def test_a_retried_job_is_opened_by_its_sealed_name(storage: PackageStorage) -> None:
    storage.start_job(LOAD_ID, JOB)
    again = storage.retry_job(LOAD_ID, JOB, "timed out")
    jobs = storage.package(LOAD_ID).jobs.list_jobs().jobs

    assert again == "items.5c1c2f0d11.1.reference"
    assert jobs[NAME.job_id()].path == f"new_jobs/{again}"
    assert storage.list_new_jobs(LOAD_ID) == [f"{LOAD_ID}/new_jobs/{again}"]


def test_the_message_of_a_failed_try_is_stored_for_the_next_one(storage: PackageStorage) -> None:
    storage.start_job(LOAD_ID, JOB)
    again = storage.retry_job(LOAD_ID, JOB, "timed out", "terminal")

    message = storage.get_job_failed_message(LOAD_ID, ParsedLoadJobFileName.parse(again))

    assert message == "retry: terminal\ntimed out"


def test_the_result_of_a_completed_job_is_not_overwritten_by_a_late_process(
    storage: PackageStorage,
) -> None:
    storage.start_job(LOAD_ID, JOB)
    storage.complete_job(LOAD_ID, JOB, {"rows": 3})

    storage.complete_job(LOAD_ID, JOB, {"rows": 0})

    assert storage.completed_results(LOAD_ID) == {NAME.job_id(): {"rows": 3}}


def test_under_a_lease_the_result_is_that_of_the_last_try(storage: PackageStorage) -> None:
    """An earlier process may have died between the result and the move."""
    storage.start_job(LOAD_ID, JOB)
    storage.package(LOAD_ID).store.put(f".results/{NAME.job_id()}.json", encode_control({"rows": 0}))

    storage.complete_job(LOAD_ID, JOB, {"rows": 3}, is_leased=True)

    assert storage.completed_results(LOAD_ID) == {NAME.job_id(): {"rows": 3}}
    assert storage.list_started_jobs(LOAD_ID) == []


def test_the_result_of_a_job_that_was_not_started_is_discarded(storage: PackageStorage) -> None:
    with pytest.raises(JobNotFound):
        storage.complete_job(LOAD_ID, JOB, {"rows": 0})
    storage.start_job(LOAD_ID, JOB)
    storage.complete_job(LOAD_ID, JOB)

    assert storage.completed_results(LOAD_ID) == {}


def test_a_stale_file_does_not_make_a_completed_job_pending(storage: PackageStorage) -> None:
    storage.start_job(LOAD_ID, JOB)
    storage.complete_job(LOAD_ID, JOB)
    storage.package(LOAD_ID).store.put(f"new_jobs/{JOB}", b"{}")

    storage.remove_completed_jobs(LOAD_ID)

    assert storage.list_new_jobs(LOAD_ID) == []


def test_jobs_of_a_table_are_found_by_its_name(storage: PackageStorage) -> None:
    storage.package(LOAD_ID).jobs.add("orders.5c1c2f0d11.0.reference", b"{}")
    storage.start_job(LOAD_ID, "orders.5c1c2f0d11.0.reference")

    found = storage.list_job_with_states_for_table(LOAD_ID, "orders")
    infos = [job for jobs in storage.get_load_package_info(LOAD_ID).jobs.values() for job in jobs]

    assert [(state, name.table_name) for state, name in found] == [("started_jobs", "orders")]
    assert [job.state for job in PackageStorage.filter_jobs_for_table(infos, "orders")] == ["started_jobs"]


def test_job_file_names_round_trip() -> None:
    built = PackageStorage.build_job_file_name("items", "5c1c2f0d11", 3, loader_file_format="parquet")

    assert built == "items.5c1c2f0d11.3.parquet"
    with pytest.raises(ValueError, match="parts between dots"):
        PackageStorage.build_job_file_name("a.b", "x")
