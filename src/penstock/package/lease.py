"""The lease of one pipeline: a chain of epochs, each taken by put-if-absent.

The holder of the highest epoch sends heartbeats: it rewrites a small file. A process that finds an old
heartbeat watches it for longer than the lease lives, by a monotonic clock, before it takes the next epoch.
The lease avoids wasted work; the sequence slot is what stops a late holder from deciding a load.
"""

from __future__ import annotations

import getpass
import math
import os
import re
import socket
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import LeaseLost, PackageDamaged, PipelineLocked
from penstock.interfaces.process import has_ended, machine_id
from penstock.package.control_file import encode_control, read_control
from penstock.package.layout import LEASE_FOLDER
from penstock.package.strict_record import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from penstock.package.storage import FileStorage

_log = logger("penstock.package")
_DIGITS = 10
_KEPT_EPOCHS = 3
_FENCE: Final = "fence"
_FILE_NAME: Final = re.compile(rf"([0-9]{{{_DIGITS}}})\.(json|beat|released|fence)")
# A monotonic clock, if possible one that also runs while the machine sleeps.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_unreleased_tokens: Final[set[str]] = set()
"""Tokens of ended leases of this process that the storage, such as a full disk, did not let it release."""


def _now() -> float:
    return time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """Seconds between heartbeats (`beat`), and without one until the lease expires (`alive`)."""

    beat: float = 5.0
    alive: float = 30.0


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """The process that holds, or held, the lease."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=socket.gethostname)
    machine: str | None = field(default_factory=machine_id)
    process: int = field(default_factory=os.getpid)
    user: str = field(default_factory=_user_name)
    started_at: float = field(default_factory=time.time)
    beat: float = 5.0
    alive: float = 30.0

    def is_dead(self) -> bool:
        """Return whether the process has certainly ended: on this machine, with no such process."""
        if self.machine is None or self.machine != machine_id() or self.process <= 0:
            return False
        return has_ended(self.process)


class Lease:
    """A lease that this process holds. Use `hold_lease`, or call `release` at the end.

    `on_lost` is called once, from a thread of the lease, when another run has taken over, or may have because
    the storage was unreachable for too long.
    """

    def __init__(
        self,
        storage: FileStorage,
        epoch: int,
        holder: LeaseHolder,
        *,
        acquired_at: float,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        self._storage, self.epoch, self.holder = storage, epoch, holder
        self._on_lost = on_lost
        self.notes: list[str] = []
        """Notes for the report of the run about packages that earlier runs marked too late."""
        self._last_heartbeat = acquired_at
        self._heartbeat_count = 0
        self._lost, self._released, self._loss_lock = threading.Event(), threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._send_heartbeats, name="penstock-lease", daemon=True)
        self._thread.start()
        # A heartbeat may hang in the storage for minutes, so another thread watches the expiry.
        threading.Thread(target=self._watch_expiry, name="penstock-lease-watch", daemon=True).start()

    @property
    def is_lost(self) -> bool:
        """Whether this process must stop working on the pipeline."""
        return self._lost.is_set()

    def check(self) -> None:
        """Raise `LeaseLost` if the lease is lost or has expired."""
        if self._is_expired():
            self._mark_lost()
        if self._lost.is_set():
            raise LeaseLost(epoch=self.epoch, host=self.holder.host)

    def confirm(self) -> None:
        """Read the highest epoch from the storage; raise `LeaseLost` unless it is this one.

        Everything written before a call that returns was written before any later run began.
        """
        self.check()
        if current_epoch(self._storage) > self.epoch:
            self._mark_lost()
        self.check()

    def release(self) -> None:
        """Release the lease, so that the next run need not wait.

        An unreachable storage is only logged: the result of the run does not depend on it.
        """
        self._released.set()
        self._thread.join(timeout=self.holder.alive)
        if self._lost.is_set() or self._is_expired():
            return
        try:
            _release(self._storage, self.epoch, self.holder)
        except OSError as error:
            _unreleased_tokens.add(self.holder.token)
            _log.warning("the lease was not released, so the next run may have to wait: %s", error)

    def _send_heartbeats(self) -> None:
        while not self._released.wait(self.holder.beat):
            try:
                self._renew()
            except OSError as error:
                # The storage may answer again before the lease expires.
                _log.debug("a heartbeat failed: %s", error)
            if self._lost.is_set():
                return

    def _watch_expiry(self) -> None:
        while not self._released.wait(self.holder.beat) and not self._lost.is_set():
            if self._is_expired():
                self._mark_lost()

    def _renew(self) -> None:
        """Renew the lease, but never an expired one: a watcher may already own it."""
        started_at = _now()
        if self._is_expired():
            self._mark_lost()
            return
        self._heartbeat_count += 1
        write_heartbeat(self._storage, self.epoch, self._heartbeat_count)
        if current_epoch(self._storage) > self.epoch:
            self._mark_lost()
            return
        self._last_heartbeat = started_at

    def _is_expired(self) -> bool:
        return _now() - self._last_heartbeat > self.holder.alive

    def _mark_lost(self) -> None:
        with self._loss_lock:
            if self._lost.is_set():
                return
            self._lost.set()
        if self._on_lost is not None:
            self._on_lost()


def acquire_lease(
    storage: FileStorage,
    *,
    pipeline: str,
    times: LeaseTimes | None = None,
    on_lost: Callable[[], None] | None = None,
) -> Lease:
    """Take the lease, or raise `PipelineLocked` with its holder.

    A killed holder is detected after `alive` seconds, on the same machine at once.
    """
    lease_times = times or LeaseTimes()
    holder = LeaseHolder(beat=lease_times.beat, alive=lease_times.alive)
    listed = _list_files(storage)
    epoch = _highest_epoch(listed)
    was_held = epoch > 0 and not any(file[:2] == (epoch, "released") for file in listed)
    last_heartbeat = _wait_for_expiry(storage, epoch, pipeline) if was_held else None
    own_epoch, acquired_at = epoch + 1, _now()
    if not storage.put_if_absent(_path(own_epoch, "json"), encode_control(asdict(holder))):
        raise _locked_error(storage, pipeline)
    try:
        listed = _list_files(storage)
        if _highest_epoch(listed) > own_epoch:
            raise _locked_error(storage, pipeline)
        if was_held and storage.read(_path(epoch, "beat")) != last_heartbeat:
            # The holder is alive. It will find this epoch and stop, but may still be working.
            _release(storage, own_epoch, holder)
            raise _locked_error(storage, pipeline)
        write_heartbeat(storage, own_epoch, 0)
    except OSError:
        with suppress(OSError):  # no run works under this epoch, so no run should wait for its expiry
            _release(storage, own_epoch, holder)
        raise
    lease = Lease(storage, own_epoch, holder, acquired_at=acquired_at, on_lost=on_lost)
    with suppress(OSError):  # old epochs are harmless, and deleted by the next run
        _delete_old_epochs(storage, own_epoch, listed)
    return lease


@contextmanager
def hold_lease(
    storage: FileStorage,
    *,
    pipeline: str,
    times: LeaseTimes | None = None,
    on_lost: Callable[[], None] | None = None,
) -> Iterator[Lease]:
    """Hold the lease for the length of a block."""
    lease = acquire_lease(storage, pipeline=pipeline, times=times, on_lost=on_lost)
    try:
        yield lease
    finally:
        lease.release()


def current_epoch(storage: FileStorage) -> int:
    """Return the highest epoch, 0 when the lease was never held."""
    return _highest_epoch(_list_files(storage))


def _highest_epoch(listed: Iterable[tuple[int, str, str]]) -> int:
    return max((epoch for epoch, suffix, _ in listed if suffix == "json"), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseStatus:
    """The process that holds a lease, as the storage and this machine know it."""

    host: str
    process: int
    user: str
    started_at: datetime
    last_heartbeat_at: datetime | None
    """By the clock of the process; None if it cannot be read."""
    is_expired: bool
    """Whether the process has ended on this machine, or sends no heartbeats: the next run takes the lease."""


def lease_status(storage: FileStorage) -> LeaseStatus | None:
    """Return the holder of the lease, also of an expired one; None if it is released or was never held."""
    epoch = current_epoch(storage)
    holder = _read_holder(storage, epoch) if epoch else None
    if holder is None or storage.has_file(_path(epoch, "released")) or holder.token in _unreleased_tokens:
        return None
    heartbeat_at = _last_heartbeat_at(storage, epoch, holder)
    return LeaseStatus(
        host=holder.host,
        process=holder.process,
        user=holder.user,
        started_at=datetime.fromtimestamp(holder.started_at, UTC),
        last_heartbeat_at=datetime.fromtimestamp(heartbeat_at, UTC) if math.isfinite(heartbeat_at) else None,
        is_expired=holder.is_dead() or abs(time.time() - heartbeat_at) >= holder.alive,
    )


def write_heartbeat(storage: FileStorage, epoch: int, count: int) -> None:
    """Write a heartbeat. It need not be durable: an unreadable one is watched like an old one."""
    content = encode_control({"count": count, "at": time.time()})
    storage.put(_path(epoch, "beat"), content, durable=False)


def _release(storage: FileStorage, epoch: int, holder: LeaseHolder) -> None:
    # Need not be durable: without it the next run waits for the expiry.
    storage.put(_path(epoch, "released"), encode_control({"token": holder.token}), durable=False)


def _wait_for_expiry(storage: FileStorage, epoch: int, pipeline: str) -> bytes | None:
    """Wait until the holder is dead and return its last heartbeat; raise as soon as it is alive."""
    holder = _read_holder(storage, epoch)
    if holder is None:  # deleted as an old epoch, so later ones exist
        raise _locked_error(storage, pipeline)
    heartbeat = storage.read(_path(epoch, "beat"))
    if holder.is_dead() or holder.token in _unreleased_tokens:
        return heartbeat
    if abs(time.time() - _last_heartbeat_at(storage, epoch, holder)) < holder.alive:
        raise _locked_error(storage, pipeline)
    # The heartbeat is old, but a clock may be wrong: a living holder sends another one in this time.
    deadline = _now() + max(holder.alive, 2 * holder.beat)
    while _now() < deadline:
        time.sleep(min(holder.beat, 1.0))
        if storage.has_file(_path(epoch, "released")):
            return storage.read(_path(epoch, "beat"))
        if storage.read(_path(epoch, "beat")) != heartbeat or current_epoch(storage) > epoch:
            raise _locked_error(storage, pipeline)
    return heartbeat


def _locked_error(storage: FileStorage, pipeline: str) -> PipelineLocked:
    # The holder may change meanwhile; report the last one that can be read.
    holder = _read_holder(storage, current_epoch(storage)) or LeaseHolder(
        host="unknown", process=0, user="unknown"
    )
    return PipelineLocked(
        pipeline=pipeline,
        host=holder.host,
        process=holder.process,
        user=holder.user,
        age=max(0.0, time.time() - holder.started_at),
        alive=holder.alive,
    )


def _read_holder(storage: FileStorage, epoch: int) -> LeaseHolder | None:
    name = _path(epoch, "json")
    content = read_control(storage, name)
    if content is None:
        return None
    path = storage.path(name)
    holder = read_record(LeaseHolder, content, path=path)
    if min(holder.beat, holder.alive) <= 0:
        raise PackageDamaged(path=path, reason="its heartbeat or lifetime is not positive")
    return holder


def _last_heartbeat_at(storage: FileStorage, epoch: int, holder: LeaseHolder) -> float:
    """Return the time of the last heartbeat; an unreadable one counts as old, so it is watched."""
    try:
        heartbeat = read_control(storage, _path(epoch, "beat")) or {}
    except PackageDamaged:
        return -math.inf
    at = heartbeat.get("at", holder.started_at)
    try:
        return float(at) if isinstance(at, int | float) else -math.inf
    except OverflowError:
        return -math.inf


def write_fence(storage: FileStorage, epoch: int, document: Mapping[str, Any]) -> None:
    """Write the fence of an epoch: the packages of earlier runs that it accepts."""
    storage.put(_path(epoch, _FENCE), encode_control(document))


def read_fence(storage: FileStorage) -> tuple[int, dict[str, Any]]:
    """Read the fence of the highest epoch that has one; epoch 0 when none has."""
    epoch = max((epoch for epoch, suffix, _ in _list_files(storage) if suffix == _FENCE), default=0)
    return epoch, (read_control(storage, _path(epoch, _FENCE)) or {}) if epoch else {}


def _delete_old_epochs(storage: FileStorage, epoch: int, listed: Sequence[tuple[int, str, str]]) -> None:
    last_fence = max((number for number, suffix, _ in listed if suffix == _FENCE), default=0)
    for number, suffix, name in listed:
        if number <= epoch - _KEPT_EPOCHS and (suffix != _FENCE or number < last_fence):
            storage.delete_file(f"{LEASE_FOLDER}/{name}")


def _list_files(storage: FileStorage) -> list[tuple[int, str, str]]:
    matches = (_FILE_NAME.fullmatch(name) for name in storage.names(LEASE_FOLDER))
    return [(int(match[1]), match[2], match[0]) for match in matches if match]


def _path(epoch: int, suffix: str) -> str:
    return f"{LEASE_FOLDER}/{epoch:0{_DIGITS}d}.{suffix}"
