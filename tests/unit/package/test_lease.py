from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.holder_process import S3_OPTIONS
from tests.unit.package.package_model import manifest_of

from penstock.errors import LeaseLost, PipelineLocked, StorageNotReachable
from penstock.package import FileStorage, Packages
from penstock.package import lease as lease_module
from penstock.package.control_file import encode_control
from penstock.package.lease import (
    LeaseHolder,
    LeaseTimes,
    acquire_lease,
    current_epoch,
    hold_lease,
    write_heartbeat,
)
from penstock.package.local_files import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.package.lease import Lease

ROOT = Path(__file__).parents[3]
QUICK = LeaseTimes(beat=0.1, alive=0.5)
# Longer than a busy machine keeps a thread waiting.
WATCHED = 1.2


class OtherProcess:
    """A process that holds the leases of some roots."""

    def __init__(self, roots: tuple[str, ...], alive: float, options: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.package.holder_process", str(alive), *roots],
            cwd=ROOT,
            env={**os.environ, S3_OPTIONS: json.dumps(options)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert len(self._hear()) == len(roots)

    def ask(self) -> Any:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._hear()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """Wait for its death without reaping it: its process id remains taken."""
        self.send(signal.SIGKILL)
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)

    def _hear(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def other_process(*roots: str, alive: float = 30.0, **options: Any) -> Iterator[OtherProcess]:
    process = OtherProcess(roots, alive, options)
    try:
        yield process
    finally:
        process.end()


def take(storage: FileStorage, times: LeaseTimes = QUICK) -> Lease:
    return acquire_lease(storage, pipeline="shop", times=times)


def hide_machine(storage: FileStorage, epoch: int) -> None:
    """Pretend that the holder is on another machine, so that its process cannot be checked."""
    name = f"lease/{epoch:010d}.json"
    document = storage.read_json(name)
    assert document
    storage.put(name, json.dumps({**document, "machine": None}).encode())


def leave_behind(storage: FileStorage) -> None:
    """The lease of a process on another machine that beats no more."""
    holder = LeaseHolder(machine=None, beat=0.1, alive=WATCHED)
    storage.put("lease/0000000001.json", encode_control(asdict(holder)))


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    return FileStorage(str(tmp_path))


def test_a_refused_process_gets_the_holder_of_the_lease(storage: FileStorage) -> None:
    with hold_lease(storage, pipeline="shop") as lease:
        lease.check()
        with pytest.raises(PipelineLocked) as caught:
            take(storage)

    reports = vars(caught.value)
    assert (reports["pipeline"], reports["process"], reports["alive"]) == ("shop", os.getpid(), 30.0)


def test_a_released_lease_is_free_at_once_and_the_epoch_increases(storage: FileStorage) -> None:
    epochs = []
    for _ in range(5):
        with hold_lease(storage, pipeline="shop") as lease:
            epochs.append(lease.epoch)

    assert epochs == [1, 2, 3, 4, 5]
    assert sorted({name.split(".")[0] for name in storage.names("lease")}) == [
        f"{epoch:010d}" for epoch in (3, 4, 5)
    ]


def test_the_lease_of_a_killed_process_is_free_at_once_or_after_a_watch(tmp_path: Path) -> None:
    here, elsewhere = (FileStorage(str(tmp_path / name)) for name in ("here", "elsewhere"))
    with other_process(here.root, elsewhere.root, alive=4.0) as other:
        hide_machine(elsewhere, 1)
        for storage in (here, elsewhere):
            with pytest.raises(PipelineLocked):
                take(storage)
        other.kill()

        began = time.monotonic()
        take(here).release()
        at_once = time.monotonic() - began
        time.sleep(4.0)
        began = time.monotonic()
        take(elsewhere).release()
        watched = time.monotonic() - began

    assert at_once < 4.0, "it has waited for a beat of the dead"
    assert watched >= 4.0, "the last beat was not watched"


def test_a_suspended_holder_finds_its_leases_lost_and_cannot_seal(tmp_path: Path) -> None:
    taken, free = (Packages.at(str(tmp_path / name)) for name in ("taken", "free"))
    for packages in (taken, free):
        for load_id in ("1.0", "2.0"):
            packages.normalized_packages.create_package(load_id)
    with other_process(taken.store.root, free.store.root, alive=0.5) as other:
        hide_machine(taken.store, 1)
        other.send(signal.SIGSTOP)
        time.sleep(0.6)
        lease = take(taken.store, LeaseTimes(beat=1.0, alive=30.0))
        assert taken.seal(manifest_of("2.0", 1))
        other.send(signal.SIGCONT)
        time.sleep(0.3)  # time for some beats

        reports = other.ask()

    # Without a successor the number is free; but the lease has expired and is not renewed.
    assert reports == [{"is_held": False, "sealed": False}, {"is_held": False, "sealed": True}]
    assert taken.last_sealed() == manifest_of("2.0", 1)
    lease.check()
    lease.release()


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_an_hour_off_neither_extends_nor_ends_a_lease(hours: int) -> None:
    storage = FileStorage(f"memory://{uuid.uuid4().hex}")  # a busy disk keeps a beat waiting for too long
    leave_behind(storage)
    ended = threading.Event()

    def beat_by_a_wrong_clock() -> None:
        count = 0
        while not ended.wait(0.05):
            count += 1
            at = time.time() + hours * 3600
            storage.put("lease/0000000001.beat", encode_control({"count": count, "at": at}))

    living = threading.Thread(target=beat_by_a_wrong_clock)
    living.start()
    time.sleep(0.1)
    with pytest.raises(PipelineLocked):
        take(storage)
    ended.set()
    living.join()

    began = time.monotonic()
    after = take(storage)

    assert time.monotonic() - began >= WATCHED
    assert after.epoch == 2
    after.release()


class Interrupted(LocalFiles):
    """A disk on which something happens right before or after a file is made."""

    def __init__(self) -> None:
        self.before: Callable[[], None] | None = None
        self.after: Callable[[], None] | None = None

    def put_if_absent(self, path: str, content: bytes) -> bool:
        before, self.before = self.before, None
        if before:
            before()
        made = super().put_if_absent(path, content)
        after, self.after = self.after, None
        if after:
            after()
        return made


def test_a_late_process_cannot_take_a_deleted_old_epoch(storage: FileStorage, tmp_path: Path) -> None:
    # Long times: a short pause of the machine must not expire the lease.
    take(storage, LeaseTimes()).release()
    files = Interrupted()

    def others_go_on() -> None:
        for _ in range(6):
            take(storage, LeaseTimes()).release()

    files.before = others_go_on
    with pytest.raises(PipelineLocked):
        take(FileStorage(str(tmp_path), files=files), LeaseTimes())

    assert not storage.exists("lease/0000000002.beat"), "the epoch that it wanted had been tidied away"
    assert current_epoch(storage) == 7
    lease = take(storage)
    assert lease.epoch == 8
    lease.release()


def test_a_heartbeat_during_a_takeover_stops_both_processes(storage: FileStorage, tmp_path: Path) -> None:
    leave_behind(storage)
    write_heartbeat(storage, 1, 0)
    time.sleep(WATCHED + 0.1)
    files = Interrupted()
    files.after = lambda: write_heartbeat(storage, 1, 1)

    with pytest.raises(PipelineLocked):
        take(FileStorage(str(tmp_path), files=files))

    assert current_epoch(storage) == 2, "the holder will find this epoch and stop"
    lease = take(storage)
    assert lease.epoch == 3, "the second epoch was given back"
    lease.release()


def test_on_lost_is_called_when_the_storage_is_unreachable_for_too_long(tmp_path: Path) -> None:
    class Unplugged(LocalFiles):
        is_down = False

        def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
            if self.is_down:
                raise StorageNotReachable(path=path, reason="unplugged")
            super().put(path, content, durable=durable)

    files, lost = Unplugged(), threading.Event()
    lease = acquire_lease(
        FileStorage(str(tmp_path), files=files),
        pipeline="shop",
        times=LeaseTimes(beat=0.1, alive=5.0),
        on_lost=lost.set,
    )
    time.sleep(0.3)
    assert not lease.is_lost
    files.is_down = True

    assert lost.wait(60)
    with pytest.raises(LeaseLost):
        lease.check()
    lease.release()


class Failing(LocalFiles):
    """Fails or hangs at a chosen operation, once the test enables it."""

    def __init__(self, *, on: str, hangs: bool = False) -> None:
        self._on, self._hangs = on, hangs
        self.is_down, self.goes_on = threading.Event(), threading.Event()

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        if self.is_down.is_set() and path.endswith(self._on):
            if self._hangs:
                self.goes_on.wait(10)
            raise StorageNotReachable(path=path, reason="unplugged")
        super().put(path, content, durable=durable)


def test_on_lost_is_called_even_while_the_storage_hangs(tmp_path: Path) -> None:
    files, lost = Failing(on=".beat", hangs=True), threading.Event()
    lease = acquire_lease(
        FileStorage(str(tmp_path), files=files), pipeline="shop", times=QUICK, on_lost=lost.set
    )
    files.is_down.set()

    assert lost.wait(5), "the heartbeat thread hangs, and no other thread watched the expiry"

    with pytest.raises(LeaseLost):
        lease.check()
    files.goes_on.set()
    lease.release()


def test_a_failed_release_is_no_error_and_the_same_process_can_retake_the_lease_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Failing(on=".released")

    with hold_lease(FileStorage(str(tmp_path), files=files), pipeline="shop"):
        files.is_down.set()

    assert "the next run may have to wait" in caplog.text
    take(FileStorage(str(tmp_path)), LeaseTimes(beat=10.0, alive=60.0)).release()


def test_a_run_that_fails_to_start_releases_its_epoch(storage: FileStorage, tmp_path: Path) -> None:
    files = Failing(on=".beat")
    files.is_down.set()

    with pytest.raises(StorageNotReachable):
        take(FileStorage(str(tmp_path), files=files))

    lease = take(storage)
    assert lease.epoch == 2
    lease.release()


def test_an_unreadable_heartbeat_is_watched(storage: FileStorage) -> None:
    leave_behind(storage)
    storage.put("lease/0000000001.beat", b"\x00 half")

    began = time.monotonic()
    take(storage).release()

    assert time.monotonic() - began >= WATCHED


SLOW = LeaseTimes(beat=1_000.0, alive=5_000.0)
"""The threads of a lease do nothing during a test: it moves the clock, and calls what they call."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock that cannot jump, as a list of one number."""
    moment = [time.monotonic()]
    monkeypatch.setattr(lease_module, "_now", lambda: moment[0])
    return moment


def test_an_expired_lease_fails_its_check(storage: FileStorage, clock: list[float]) -> None:
    lost: list[bool] = []
    lease = acquire_lease(storage, pipeline="shop", times=SLOW, on_lost=lambda: lost.append(True))
    clock[0] += SLOW.alive - 1
    lease.check()

    clock[0] += 2

    with pytest.raises(LeaseLost):
        lease.check()
    assert lost == [True]
    lease.release()
    assert not storage.exists("lease/0000000001.released"), "another process may be watching it"


def test_a_heartbeat_never_renews_an_expired_lease(storage: FileStorage, clock: list[float]) -> None:
    lease = acquire_lease(storage, pipeline="shop", times=SLOW)
    for _ in range(3):
        clock[0] += SLOW.alive - 1
        lease._renew()
        lease.check()
    renewed = storage.read("lease/0000000001.beat")

    clock[0] += SLOW.alive + 1
    lease._renew()

    assert lease.is_lost
    assert storage.read("lease/0000000001.beat") == renewed, "a late beat looks alive to a process that waits"
    with pytest.raises(LeaseLost):
        lease.check()
    lease.release()


def test_a_heartbeat_that_finds_a_later_epoch_loses_the_lease(
    storage: FileStorage, clock: list[float]
) -> None:
    lease = acquire_lease(storage, pipeline="shop", times=SLOW)
    clock[0] += 1
    storage.put("lease/0000000002.json", encode_control(asdict(LeaseHolder())))

    lease._renew()

    with pytest.raises(LeaseLost):
        lease.check()
    lease.release()
