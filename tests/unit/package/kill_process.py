"""Kills a process at every durable operation of every public call, and continues with a new process.

`python -m tests.unit.package.kill_process disk`, or `s3` with the addresses of `make up`. A child is forked
for each kill, so that nothing needs to be imported again.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import fsspec
from tests.unit.package.crash_points import CrashPoints, Disk, ObjectStore, StorageFactory
from tests.unit.package.package_model import FINISHED, observed
from tests.unit.package.transitions import SOON, TRANSITIONS, Transition, there

from penstock.errors import LoadPackageAlreadyCompleted
from penstock.package import Packages, ParsedLoadJobFileName, TLoadPackageStatus
from penstock.package.lease import acquire_lease, current_epoch

if TYPE_CHECKING:
    from collections.abc import Callable

Facts = dict[str, Any]
STATUSES = (None, *get_args(TLoadPackageStatus))


def facts(packages: Packages) -> Facts:
    """Return the observable state of packages, as single facts."""
    world = observed(packages)
    found: Facts = {"slots": world.slots, "lease": current_epoch(packages.store)}
    elsewhere = there(packages).extracted_packages.list_packages_with_status("extracted")
    # Carried or not, the rows are in one of the two storages.
    found["carried"] = bool(elsewhere) or any(one.rank > 0 for one in world.packages.values())
    found |= {f"outcome {sequence}": decision for sequence, decision in world.outcomes.items()}
    for load_id, one in world.packages.items():
        package = packages.package(load_id)
        storage = packages.normalized_packages
        own: Facts = {
            "status": one.status,
            "updates": one.updates,
            "applied": one.applied,
            "counter": one.counter,
            "data": one.has_data,
            "cancelled": package.store.exists("_cancelled"),
            "schema": package.store.exists("schema.json") and storage.schema_name(load_id),
        }
        for job_id, (state, retries) in one.jobs.items():
            own[f"job {job_id}"] = (state, retries)
            name = ParsedLoadJobFileName.parse(job_id.replace(".reference", f".{retries}.reference"))
            own[f"message {job_id}"] = (
                storage.get_job_failed_message(load_id, name) if state == "failed_jobs" else None
            )
        own |= {f"result {job}": result for job, result in storage.completed_results(load_id).items()}
        found |= {f"{load_id} {key}": value for key, value in own.items() if value}
    return found


def run_in_child(work: Callable[[], Any]) -> Any:
    """Run `work` in a forked process; return its result, None when it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            answer = (True, work())
        except BaseException as error:
            answer = (False, f"{type(error).__name__}: {error}")
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(answer, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    is_well, answer = pickle.loads(content)
    assert is_well, answer
    return answer


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class KillTrial:
    """One transition in one kind of storage."""

    def __init__(self, place: StorageFactory, name: str) -> None:
        self._place, self._name = place, name
        self._transition: Transition = TRANSITIONS[name]

    def run(self) -> int:
        """Kill at every point; return the number of points."""
        reports: tuple[Facts, Facts, Facts, int] = run_in_child(self._without_kill)
        before, after, tidied, points = reports
        roots = run_in_child(lambda: [self._prepared() for _ in range(points + 1)])
        for at, root in enumerate(roots):
            assert run_in_child(partial(self._act, root, at)) is None, f"{self._name}: no point {at}"
        run_in_child(partial(self._check_all, roots, (before, after), tidied))
        return points + 1

    def _check_all(self, roots: list[str], ends: tuple[Facts, Facts], tidied: Facts) -> None:
        for at, root in enumerate(roots):
            self._check(root, at, ends, tidied)

    def _open(self, root: str, points: CrashPoints) -> Packages:
        return Packages(self._place.storage(root, points))

    def _prepared(self) -> str:
        root = self._place.new_root()
        self._transition.prepare(self._open(root, CrashPoints()))
        return root

    def _without_kill(self) -> tuple[Facts, Facts, Facts, int]:
        root = run_in_child(self._prepared)
        before = facts(self._open(root, CrashPoints()))
        points = CrashPoints()
        packages = self._open(root, points)
        points.arm(None)
        self._transition.act(packages)
        points.disarm()
        after = facts(packages)
        packages.apply_retention()
        tidied = facts(packages)
        self._place.clean(root)
        return before, after, tidied, len(points.seen)

    def _act(self, root: str, at: int) -> None:
        points = CrashPoints(stop=kill)
        packages = self._open(root, points)
        points.arm(at)
        self._transition.act(packages)
        kill()  # behind the last point

    def _check(self, root: str, at: int, ends: tuple[Facts, Facts], tidied: Facts) -> None:
        where = f"{self._name}, killed at {at}"
        packages = self._open(root, CrashPoints())
        seen = facts(packages)
        for key in seen.keys() | ends[0].keys() | ends[1].keys():
            now, values = seen.get(key), [end.get(key) for end in ends]
            on_the_way = key.endswith(" status") and now in STATUSES[: STATUSES.index(values[1] or "new")]
            assert now in values or on_the_way or self._is_half_deleted(key, seen), f"{where}: {key} is {now}"
        if "lease" in self._name:
            # The holder is dead, so the next process need not wait.
            acquire_lease(packages.store, pipeline="shop", times=SOON).release()
        else:
            self._again(packages)
            seen = facts(packages)
            differing = {key for key in seen.keys() | tidied.keys() if seen.get(key) != tidied.get(key)}
            assert not differing, f"{where}, done again: {differing}"
        self._place.clean(root)

    def _is_half_deleted(self, key: str, seen: Facts) -> bool:
        load_id = key.split(" ", 1)[0]
        return load_id in self._transition.deletes and seen.get(f"{load_id} status") in (
            None,
            "new",
            *FINISHED,
        )

    def _again(self, packages: Packages) -> None:
        with suppress(LoadPackageAlreadyCompleted):
            self._transition.act(packages)
        packages.apply_retention()


def main(kind: str, *names: str) -> None:
    """Run all transitions, or the named ones, and print the counts."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        place: StorageFactory = Disk(Path(folder)) if kind == "disk" else s3()
        total = 0
        for name in names or TRANSITIONS:
            points = KillTrial(place, name).run()
            total += points
            print(f"{name:<32} {points:>3} kills", flush=True)  # noqa: T201
    seconds = time.monotonic() - began
    print(f"{len(names or TRANSITIONS)} transitions, {total} kills, {seconds:.1f} s")  # noqa: T201


def s3() -> ObjectStore:
    """The gateway of `make up`."""
    fsspec.get_filesystem_class("s3")  # imported before the first fork
    env = os.environ
    return ObjectStore(
        f"s3://{env['PENSTOCK_TEST_S3_BUCKET']}/kills",
        key=env["PENSTOCK_TEST_S3_KEY"],
        secret=env["PENSTOCK_TEST_S3_SECRET"],
        client_kwargs={"endpoint_url": env["PENSTOCK_TEST_S3_ENDPOINT"]},
        use_listings_cache=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
