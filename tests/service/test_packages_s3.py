"""Load packages in a real object store: the S3 gateway that `make up` starts.

`PENSTOCK_TEST_SEQUENCES`, `PENSTOCK_TEST_ROUNDS` and `PENSTOCK_TEST_KILLS=all` set its size.
"""

from __future__ import annotations

import os
import random
import signal
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import AT_LENGTH, SEED
from tests.service.bucket import keys
from tests.unit.package.crash_points import ObjectStore
from tests.unit.package.package_model import manifest_of, observed
from tests.unit.package.test_contention import check_lease, check_slots, contend
from tests.unit.package.test_kills import ALL, MOVES, run_kills
from tests.unit.package.test_lease import hide_machine, other_process
from tests.unit.package.test_model import run, summary
from tests.unit.package.transitions import TRANSITIONS

from penstock.errors import PipelineLocked
from penstock.package import FileStorage, Packages
from penstock.package.lease import LeaseTimes, acquire_lease
from penstock.package.trust import known_trust, require_trust

if TYPE_CHECKING:
    from collections.abc import Iterator

SEQUENCES = int(os.environ.get("PENSTOCK_TEST_S3_SEQUENCES", "15" if AT_LENGTH else "6"))
ROUNDS = int(os.environ.get("PENSTOCK_TEST_S3_ROUNDS", "20" if AT_LENGTH else "10"))
FEW_MOVES = ("seal", *random.Random(SEED).sample([move for move in MOVES if move != "seal"], 3))
"""The transitions that CI tests, chosen by the seed."""


def options(endpoint: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "key": os.environ["PENSTOCK_TEST_S3_KEY"],
        "secret": os.environ["PENSTOCK_TEST_S3_SECRET"],
        "client_kwargs": {"endpoint_url": endpoint or os.environ["PENSTOCK_TEST_S3_ENDPOINT"]},
        "use_listings_cache": False,
        **more,
    }


@pytest.fixture
def root() -> Iterator[str]:
    address = f"s3://{os.environ['PENSTOCK_TEST_S3_BUCKET']}/packages-{uuid.uuid4().hex[:12]}"
    yield address
    FileStorage(address, **options()).delete("")


def test_the_gateway_is_trusted_after_a_check(root: str) -> None:
    storage = FileStorage(root, credentials=keys())

    assert known_trust(storage).trusted
    assert not known_trust(FileStorage(root, **options())).trusted
    require_trust(storage)
    assert storage.names("trial") == []


def test_of_many_writers_that_race_for_an_object_exactly_one_creates_it(root: str) -> None:
    with ThreadPoolExecutor(8) as racers:
        for attempt in range(20):
            name = f"slots/{attempt}"
            took = list(
                racers.map(
                    lambda n, at=name: FileStorage(root, **options()).put_if_absent(at, b"%d" % n), range(8)
                )
            )

            assert took.count(True) == 1
            assert FileStorage(root, **options()).read(name) == b"%d" % took.index(True)


def test_a_package_is_loaded_and_its_data_deleted(root: str) -> None:
    packages = Packages.at(root, **options())
    packages.normalized_packages.create_package("17.5")
    packages.package("17.5").store.put("data/raw/part", b"rows")
    job = "items.5c1c2f0d11.0.reference"
    packages.package("17.5").jobs.add(job, b"{}")

    assert packages.seal(manifest_of("17.5", 1))
    path = packages.normalized_packages.start_job("17.5", job)
    packages.normalized_packages.complete_job("17.5", job, {"rows": 3})
    packages.commit(manifest_of("17.5", 1))
    packages.finish("17.5")

    assert path == f"{root}/packages/17.5/started_jobs/{job}"
    world = observed(Packages.at(root, **options()))
    assert (world.slots, world.outcomes) == (["17.5"], {1: "commit"})
    assert (world.packages["17.5"].status, world.packages["17.5"].has_data) == ("loaded", False)


def test_packages_in_s3_match_the_model_wherever_a_process_stops(
    root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = run(ObjectStore(root, **options()), sequences=SEQUENCES, steps=12)

    assert tally["stops"] >= SEQUENCES / 2
    with capsys.disabled():
        print(f"\n{summary('in S3', tally)}")  # noqa: T201


def test_a_process_killed_at_any_request_leaves_packages_that_the_next_one_can_resume(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = tuple(TRANSITIONS) if ALL else MOVES if AT_LENGTH else FEW_MOVES

    done = run_kills("s3", *names)

    assert done.startswith(f"{len(names)} transitions, ")
    with capsys.disabled():
        print(f"\nin S3: {done}")  # noqa: T201


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.at_length)])
def test_of_several_processes_in_s3_one_holds_the_lease_one_seals_a_number_and_one_decides_it(
    processes: int,
) -> None:
    report = contend("s3", processes, ROUNDS)

    check_lease(report, ROUNDS)
    check_slots(report, ROUNDS)


def test_a_lease_in_s3_is_taken_over_when_its_holder_is_killed_or_stalls(root: str) -> None:
    packages = Packages.at(root, **options())
    for load_id in ("1.0", "2.0"):
        packages.normalized_packages.create_package(load_id)
    with other_process(root, **options()) as killed:
        with pytest.raises(PipelineLocked):
            acquire_lease(packages.store, pipeline="shop")
        killed.kill()
        acquire_lease(packages.store, pipeline="shop").release()
    with other_process(root, alive=2.0, **options()) as paused:
        hide_machine(packages.store, 3)
        paused.send(signal.SIGSTOP)
        time.sleep(2.2)
        lease = acquire_lease(packages.store, pipeline="shop", times=LeaseTimes(beat=5.0, alive=60.0))
        assert packages.seal(manifest_of("2.0", 1))
        paused.send(signal.SIGCONT)

        assert paused.ask() == [{"is_held": False, "sealed": False}]
    lease.release()


def test_a_listing_starts_anywhere_and_skips_ranges(root: str) -> None:
    storage = FileStorage(root, **options())
    names = [f"s__{number:05}.jsonl" for number in range(1010)] + ["t__1.jsonl", "init"]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda name: storage.put(f"loads/{name}", b"{}"), names))
    storage.put("loads/folder/file", b"{}")

    assert storage.names("loads") == sorted([*names, "folder"])
    assert storage.names("loads", prefix="s__", after="s__01007") == names[1007:1010]
    assert storage.names("loads", prefix="s__", after="s__00001.jsonl", limit=3) == names[2:5]
    assert storage.names("none") == []
    outside = storage.names_outside("loads", [("s__00000", "s__01008.jsonl"), ("t__", "t__1.jsonl")])
    assert outside == ["folder", "init", "s__01009.jsonl"]
    assert storage.names_outside("loads", []) == storage.names("loads")
