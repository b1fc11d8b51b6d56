"""Concurrent processes that compete for the lease, a sequence slot or a decision.

`python -m tests.unit.package.contention_process <disk|s3> <processes> <rounds>` prints what came of it.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.unit.package.crash_points import CrashPoints, Disk, StorageFactory
from tests.unit.package.kill_process import s3
from tests.unit.package.package_model import manifest_of

from penstock.errors import LoadIsDecided, LoadPackageAborted, PipelineLocked
from penstock.package import Packages
from penstock.package.lease import acquire_lease

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier, Event

    Together = tuple[Barrier, Event]

FORK = get_context("fork")


def hold(packages: Packages, folder: Path, rounds: int, is_contended: Event) -> dict[str, Any]:
    """Take the lease repeatedly; while it is held no other process may be in the guarded section.

    The first lease is held until another process is refused: otherwise few rounds might not overlap.
    """
    epochs: list[int] = []
    refused = met = 0
    guard = folder / "guard"
    while len(epochs) < rounds:
        try:
            lease = acquire_lease(packages.store, pipeline="shop")
        except PipelineLocked:
            refused += 1
            is_contended.set()
            time.sleep(random.random() / 500)
            continue
        try:
            os.close(os.open(guard, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            met += 1
        is_contended.wait(60)
        lease.check()
        time.sleep(random.random() / 1000)
        guard.unlink(missing_ok=True)
        epochs.append(lease.epoch)
        lease.release()
    return {"epochs": epochs, "refused": refused, "met": met}


def seal(packages: Packages, barrier: Barrier, me: int, rounds: int) -> dict[str, Any]:
    """Seal each number together with the others, then decide it together, half of them each way."""
    won: list[int] = []
    committed: list[int] = []
    aborted: list[int] = []
    for sequence in range(1, rounds + 1):
        load_id = f"{sequence}.{me}"
        packages.normalized_packages.create_package(load_id)
        barrier.wait()
        if packages.seal(manifest_of(load_id, sequence)):
            won.append(sequence)
        barrier.wait()
        sealed = packages.slots.read(sequence)
        assert sealed is not None
        try:
            (packages.commit if me % 2 else packages.abort)(sealed)
        except (LoadIsDecided, LoadPackageAborted):
            pass
        else:
            (committed if me % 2 else aborted).append(sequence)
        barrier.wait()
        outcome = packages.slots.find_decision(sequence)
        assert outcome is not None
        if sequence in won:
            packages.finish(load_id, "loaded" if outcome.decision == "commit" else "aborted")
        barrier.wait()
    return {"won": won, "committed": committed, "aborted": aborted}


def work(place: StorageFactory, root: str, folder: Path, me: int, rounds: int, together: Together) -> None:
    packages = Packages(place.storage(root, CrashPoints()))
    barrier, is_contended = together
    barrier.wait()
    reports = hold(packages, folder, rounds, is_contended) | seal(packages, barrier, me, rounds)
    (folder / f"{me}.json").write_text(json.dumps(reports))


def main(kind: str, processes: str, rounds: str) -> None:
    """Run the processes and combine their reports."""
    began, count = time.monotonic(), int(processes)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        place: StorageFactory = Disk(folder) if kind == "disk" else s3()
        root, together = place.new_root(), (FORK.Barrier(count, timeout=120), FORK.Event())
        workers = [
            FORK.Process(target=work, args=(place, root, folder, me, int(rounds), together))
            for me in range(count)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0] * count
        reports = [json.loads((folder / f"{me}.json").read_text()) for me in range(count)]
    print(json.dumps({"seconds": round(time.monotonic() - began, 1), "reports": reports}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
