"""Every public call that changes a package, with its preparation, for `kill_process.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.unit.package.package_model import manifest_of

from penstock.package import FileStorage, Packages, PackageStorage, Retention
from penstock.package.lease import LeaseTimes, acquire_lease, hold_lease
from penstock.package.packages import transfer_package
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.package import Package

ONE, TWO = "17.001", "17.002"
JOB = "items.5c1c2f0d11.0.reference"
OTHER = "orders.a1b2c3d4e5.0.reference"
RETRIED = "items.5c1c2f0d11.1.reference"
SOON = LeaseTimes(beat=60.0, alive=120.0)
NOTHING_KEPT = Retention(packages=0)
FACTS = {"take_back": [{"table": "items"}]}


@dataclass(frozen=True)
class Transition:
    """A call. `deletes` are packages that may be found half deleted, but never waiting to be loaded."""

    prepare: Callable[[Packages], object]
    act: Callable[[Packages], object]
    deletes: tuple[str, ...] = ()


def nothing(packages: Packages) -> None:
    packages.store.put("outside/mark", b"")


def normalized(packages: Packages, load_id: str = ONE) -> Package:
    package = packages.package(load_id)
    package.store.put("data/raw/part-0", b"rows")
    package.store.put("data/raw/part-1", b"rows")
    packages.normalized_packages.create_package(load_id)
    for job in (JOB, OTHER):
        package.jobs.add(job, b"{}")
    return package


def started(packages: Packages) -> Package:
    package = normalized(packages)
    package.jobs.start(JOB)
    package.jobs.start(OTHER)
    return package


def completed(packages: Packages) -> Package:
    package = started(packages)
    for job in (JOB, OTHER):
        package.jobs.complete(job, {"rows": 3})
    return package


def failed(packages: Packages) -> Package:
    package = started(packages)
    package.jobs.fail(JOB, "no such column")
    return package


def retried(packages: Packages) -> Package:
    package = started(packages)
    package.jobs.retry(JOB, "timed out")
    return package


def half_moved(packages: Packages) -> None:
    package = completed(packages)
    package.store.put(f"new_jobs/{JOB}", b"{}")
    package.store.put(f"started_jobs/{JOB}", b"{}")


def sealed(packages: Packages) -> Package:
    package = normalized(packages)
    assert packages.seal(manifest_of(ONE, 1))
    return package


def committed(packages: Packages) -> Package:
    package = sealed(packages)
    packages.commit(manifest_of(ONE, 1))
    return package


def slot_without_mark(packages: Packages) -> None:
    normalized(packages)
    assert packages.slots.seal(manifest_of(ONE, 1))


def abort_without_end(packages: Packages) -> None:
    sealed(packages)
    packages._decide(manifest_of(ONE, 1), "abort")


def aborted_with_facts(packages: Packages) -> None:
    sealed(packages)
    packages.abort(manifest_of(ONE, 1), FACTS)


def next_to_abort_without_end(packages: Packages) -> None:
    abort_without_end(packages)
    normalized(packages, TWO)


def marker_without_note(packages: Packages) -> None:
    committed(packages).complete("loaded")


def two_finished(packages: Packages) -> None:
    committed(packages)
    packages.finish(ONE)
    normalized(packages, TWO)
    assert packages.seal(manifest_of(TWO, 2))
    packages.commit(manifest_of(TWO, 2))
    packages.finish(TWO)


def importable(packages: Packages) -> None:
    normalized(packages)
    packages.store.put("outside/tags.5c1c2f0d11.0.reference", b"{}")


def there(packages: Packages) -> Packages:
    """Packages in another storage, which only the driver sees."""
    return Packages(packages.store.subfolder("there"))


def carried(packages: Packages) -> None:
    # A separate lease: each call would leave another epoch among the packages.
    with hold_lease(FileStorage(f"memory://{uuid4().hex}"), pipeline="shop") as lease:
        is_there = packages.package(ONE).status != "new"
        transfer_package(
            there(packages).package(ONE), packages.package(ONE), lease=lease, is_transferred=is_there
        )


def extracted_there(packages: Packages) -> None:
    nothing(packages)
    package = there(packages).package(ONE)
    package.store.put("data/raw/part-0", b"rows")
    package.store.put("data/raw/part-1", b"rows")
    package.create()
    package.mark_extracted({})


def unheld_lease(packages: Packages) -> None:
    for _ in range(4):
        acquire_lease(packages.store, pipeline="shop", times=SOON).release()


def lease_of_dead_process(packages: Packages) -> None:
    unheld_lease(packages)
    acquire_lease(
        packages.store, pipeline="shop", times=SOON
    )  # the preparing process has ended before the call


def on(load_id: str, call: Callable[[Package], object]) -> Callable[[Packages], object]:
    return lambda packages: call(packages.package(load_id))


def by(call: Callable[[PackageStorage], object]) -> Callable[[Packages], object]:
    return lambda packages: call(packages.normalized_packages)


TABLES = {"items": {"columns": {"id": {"name": "id"}}}}
TRANSITIONS: dict[str, Transition] = {
    "create_package": Transition(
        nothing, lambda p: p.normalized_packages.create_package(ONE, schema=Schema("shop"))
    ),
    "create_package, finished": Transition(nothing, lambda p: p.loaded_packages.create_package(ONE)),
    "mark_extracted": Transition(lambda p: p.package(ONE).create(), on(ONE, lambda p: p.mark_extracted({}))),
    "mark_normalized": Transition(
        lambda p: p.extracted_packages.create_package(ONE), on(ONE, lambda p: p.mark_normalized({}))
    ),
    "save_schema": Transition(normalized, by(lambda s: s.save_schema(ONE, Schema("shop")))),
    "save_schema_updates": Transition(normalized, by(lambda s: s.save_schema_updates(ONE, TABLES))),
    "commit_schema_updates": Transition(
        lambda p: normalized(p).save_schema_updates(TABLES),
        on(ONE, lambda p: p.commit_schema_updates(TABLES)),
    ),
    "save_load_package_state": Transition(
        normalized, by(lambda s: s.save_load_package_state(ONE, {"destination_state": {"counter": 7}}))
    ),
    "cancel": Transition(normalized, by(lambda s: s.cancel(ONE))),
    "add_job": Transition(normalized, on(ONE, lambda p: p.jobs.add("tags.5c1c2f0d11.0.reference", b"{}"))),
    "import_job": Transition(
        importable,
        lambda p: p.normalized_packages.import_job(ONE, p.store.path("outside/tags.5c1c2f0d11.0.reference")),
    ),
    "start_job": Transition(normalized, by(lambda s: s.start_job(ONE, JOB))),
    "complete_job": Transition(started, by(lambda s: s.complete_job(ONE, JOB, {"rows": 3}))),
    "retry_job": Transition(started, by(lambda s: s.retry_job(ONE, JOB, "timed out", "terminal"))),
    "fail_job": Transition(started, by(lambda s: s.fail_job(ONE, JOB, "no such column"))),
    "retry_failed_job": Transition(failed, by(lambda s: s.retry_failed_job(ONE, JOB))),
    "fail_retried_job": Transition(retried, by(lambda s: s.fail_retried_job(ONE, RETRIED))),
    "repair": Transition(half_moved, on(ONE, lambda p: p.jobs.repair())),
    "remove_completed_jobs": Transition(half_moved, by(lambda s: s.remove_completed_jobs(ONE))),
    "complete_loading_package": Transition(
        completed, by(lambda s: s.complete_loading_package(ONE, "loaded"))
    ),
    "delete_package": Transition(completed, by(lambda s: s.delete_package(ONE, not_exists_ok=True)), (ONE,)),
    "delete_package, finished": Transition(
        marker_without_note, by(lambda s: s.delete_package(ONE, not_exists_ok=True)), (ONE,)
    ),
    "carry": Transition(extracted_there, carried),
    "seal": Transition(normalized, lambda p: p.seal(manifest_of(ONE, 1))),
    "seal after an abort": Transition(next_to_abort_without_end, lambda p: p.seal(manifest_of(TWO, 2))),
    "commit": Transition(sealed, lambda p: p.commit(manifest_of(ONE, 1))),
    "abort": Transition(sealed, lambda p: p.abort(manifest_of(ONE, 1))),
    "abort, to be taken back": Transition(sealed, lambda p: p.abort(manifest_of(ONE, 1), FACTS)),
    "finish, taken back": Transition(aborted_with_facts, lambda p: p.finish(ONE, "aborted")),
    "finish": Transition(committed, lambda p: p.finish(ONE)),
    "finish with failed jobs": Transition(failed, lambda p: p.finish(ONE)),
    "tidy, late": Transition(marker_without_note, lambda p: p.apply_retention()),
    "tidy, nothing kept": Transition(two_finished, lambda p: p.apply_retention(NOTHING_KEPT), (ONE,)),
    "drop, not sealed": Transition(started, lambda p: p.drop(ONE), (ONE,)),
    "drop, sealed": Transition(sealed, lambda p: p.drop(ONE)),
    "to_roll_forward, no mark": Transition(slot_without_mark, lambda p: p.pending_load()),
    "to_roll_forward, aborted": Transition(abort_without_end, lambda p: p.pending_load()),
    "lease, first": Transition(nothing, lambda p: acquire_lease(p.store, pipeline="shop", times=SOON)),
    "lease, released": Transition(
        unheld_lease, lambda p: acquire_lease(p.store, pipeline="shop", times=SOON)
    ),
    "lease, from the dead": Transition(
        lease_of_dead_process, lambda p: acquire_lease(p.store, pipeline="shop", times=SOON)
    ),
    "lease, release": Transition(
        nothing, lambda p: acquire_lease(p.store, pipeline="shop", times=SOON).release()
    ),
}
