"""One run of a pipeline at a time: a lease that is a chain of epochs, each taken by put-if-absent.

The holder of the highest epoch holds the lease and beats: it rewrites a small file. Whoever finds a beat
that is old by the clock watches it for longer than a living holder would let pass, by a clock that cannot
jump, and only then takes the next epoch. The lease saves work; what keeps a late holder from deciding
anything is the sequence slot.
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
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import LeaseLost, PackageDamaged, PipelineLocked
from penstock.interfaces.process import has_ended, machine_id
from penstock.package.control_file import encode_control, read_control
from penstock.package.layout import LEASE_FOLDER
from penstock.package.strict_record import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.package.storage import FileStorage

_log = logger("penstock.package")
_DIGITS = 10
_KEPT_EPOCHS = 3
_FENCE: Final = "fence"
_FILE_NAME: Final = re.compile(rf"([0-9]{{{_DIGITS}}})\.(json|beat|released|fence)")
# Of a clock that cannot jump, one that goes on while the machine sleeps, where there is one.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_unreleased_tokens: Final[set[str]] = set()
"""Tokens of leases of this process that ended while their storage, say a full disk, refused the release."""


def _now() -> float:
    return time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """Seconds. A holder beats every `beat`; one that has not beaten for `alive` may be taken for dead."""

    beat: float = 5.0
    alive: float = 30.0


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """A process that holds the lease, or held it."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=socket.gethostname)
    machine: str | None = field(default_factory=machine_id)
    process: int = field(default_factory=os.getpid)
    user: str = field(default_factory=_user_name)
    started_at: float = field(default_factory=time.time)
    beat: float = 5.0
    alive: float = 30.0

    def is_dead(self) -> bool:
        """True only when it is certain: the same machine and table of processes, and no such process."""
        if self.machine is None or self.machine != machine_id() or self.process <= 0:
            return False
        return has_ended(self.process)


class Lease:
    """A lease that this process holds. Use `held`, or call `release` in the end.

    `on_lost` is called once, from a thread of the lease, when another run has taken over or the storage
    cannot be reached for so long that one may have.
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
        """What this run found that an earlier one had left too late."""
        self._last_heartbeat = acquired_at
        self._heartbeat_count = 0
        self._lost, self._released, self._loss_lock = threading.Event(), threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._send_heartbeats, name="penstock-lease", daemon=True)
        self._thread.start()
        # A storage that hangs holds a beat up for minutes; somebody must see that time runs out.
        threading.Thread(target=self._watch_expiry, name="penstock-lease-watch", daemon=True).start()

    @property
    def is_lost(self) -> bool:
        """Whether this process must stop working for the pipeline."""
        return self._lost.is_set()

    def check(self) -> None:
        """Stop here if the lease is lost, or if it was not renewed for so long that it may be."""
        if self._is_expired():
            self._mark_lost()
        if self._lost.is_set():
            raise LeaseLost(epoch=self.epoch, host=self.holder.host)

    def confirm(self) -> None:
        """Ask the storage whether this is still the highest epoch; raise `LeaseLost` if it is not.

        What this process wrote before a call that returns was written before any later run began.
        """
        self.check()
        if current_epoch(self._storage) > self.epoch:
            self._mark_lost()
        self.check()

    def release(self) -> None:
        """Give the lease back; the next run need not wait.

        A storage that cannot be reached is no error: what the run came to does not depend on it.
        """
        self._released.set()
        self._thread.join(timeout=self.holder.alive)
        if self._lost.is_set() or self._is_expired():
            return
        try:
            _release(self._storage, self.epoch, self.holder)
        except OSError as error:
            _unreleased_tokens.add(self.holder.token)
            _log.warning("the next run may have to wait, as the lease was not given back: %s", error)

    def _send_heartbeats(self) -> None:
        while not self._released.wait(self.holder.beat):
            try:
                self._renew()
            except OSError as error:
                # A storage that does not answer may come back in time; the deadline decides.
                _log.debug("a beat was missed: %s", error)
            if self._lost.is_set():
                return

    def _watch_expiry(self) -> None:
        while not self._released.wait(self.holder.beat) and not self._lost.is_set():
            if self._is_expired():
                self._mark_lost()

    def _renew(self) -> None:
        """Renew, but never what has run out: whoever watched may be about to take it, or have taken it."""
        begun = _now()
        if self._is_expired():
            self._mark_lost()
            return
        self._heartbeat_count += 1
        write_heartbeat(self._storage, self.epoch, self._heartbeat_count)
        if current_epoch(self._storage) > self.epoch:
            self._mark_lost()
            return
        self._last_heartbeat = begun

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
    """Take the lease, or say who has it.

    A holder that was killed is noticed after `alive` seconds, on the same machine at once.
    """
    limits = times or LeaseTimes()
    holder = LeaseHolder(beat=limits.beat, alive=limits.alive)
    epoch = current_epoch(storage)
    was_held = epoch > 0 and not storage.exists(_path(epoch, "released"))
    last_sign = _wait_for_expiry(storage, epoch, pipeline) if was_held else None
    mine, since = epoch + 1, _now()
    if not storage.put_if_absent(_path(mine, "json"), encode_control(asdict(holder))):
        raise _locked_error(storage, pipeline)
    try:
        if current_epoch(storage) > mine:
            raise _locked_error(storage, pipeline)
        if was_held and storage.read(_path(epoch, "beat")) != last_sign:
            # It beat just now: it will find this epoch and stop, but until then it may go on.
            _release(storage, mine, holder)
            raise _locked_error(storage, pipeline)
        write_heartbeat(storage, mine, 0)
    except OSError:
        with suppress(OSError):  # nobody works under this epoch, so nobody should wait for its end
            _release(storage, mine, holder)
        raise
    lease = Lease(storage, mine, holder, acquired_at=since, on_lost=on_lost)
    with suppress(OSError):  # what is left is in nobody's way, and goes next time
        _delete_old_epochs(storage, mine)
    return lease


@contextmanager
def hold_lease(
    storage: FileStorage,
    *,
    pipeline: str,
    times: LeaseTimes | None = None,
    on_lost: Callable[[], None] | None = None,
) -> Iterator[Lease]:
    """Hold the lease for the time of a block."""
    lease = acquire_lease(storage, pipeline=pipeline, times=times, on_lost=on_lost)
    try:
        yield lease
    finally:
        lease.release()


def current_epoch(storage: FileStorage) -> int:
    """The epoch that counts, 0 when nobody ever held the lease."""
    return max((epoch for epoch, suffix, _ in _list_files(storage) if suffix == "json"), default=0)


def write_heartbeat(storage: FileStorage, epoch: int, count: int) -> None:
    """Show that the holder lives."""
    storage.put(_path(epoch, "beat"), encode_control({"count": count, "at": time.time()}))


def _release(storage: FileStorage, epoch: int, holder: LeaseHolder) -> None:
    storage.put(_path(epoch, "released"), encode_control({"token": holder.token}))


def _wait_for_expiry(storage: FileStorage, epoch: int, pipeline: str) -> bytes | None:
    """Return when the holder is dead, with its last sign of life; raise at once while it shows one."""
    holder = _read_holder(storage, epoch)
    if holder is None:  # tidied away, so others have held it since
        raise _locked_error(storage, pipeline)
    seen = storage.read(_path(epoch, "beat"))
    if holder.is_dead() or holder.token in _unreleased_tokens:
        return seen
    if abs(time.time() - _last_heartbeat_at(storage, epoch, holder)) < holder.alive:
        raise _locked_error(storage, pipeline)
    # Far off by the clock, which may be wrong on either side: a living holder beats while it is watched.
    until = _now() + max(holder.alive, 2 * holder.beat)
    while _now() < until:
        time.sleep(min(holder.beat, 1.0))
        if storage.exists(_path(epoch, "released")):
            return storage.read(_path(epoch, "beat"))
        if storage.read(_path(epoch, "beat")) != seen or current_epoch(storage) > epoch:
            raise _locked_error(storage, pipeline)
    return seen


def _locked_error(storage: FileStorage, pipeline: str) -> PipelineLocked:
    # Others may go on while this looks; who held it last is told as well as it can be.
    holder = _read_holder(storage, current_epoch(storage)) or LeaseHolder(
        host="unknown", process=0, user="somebody"
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
        raise PackageDamaged(path=path, reason="it beats never, or has no time to live")
    return holder


def _last_heartbeat_at(storage: FileStorage, epoch: int, holder: LeaseHolder) -> float:
    """When the holder says it has beaten last. What cannot be understood is watched, as if it were old."""
    try:
        seen = read_control(storage, _path(epoch, "beat")) or {}
    except PackageDamaged:
        return -math.inf
    at = seen.get("at", holder.started_at)
    try:
        return float(at) if isinstance(at, int | float) else -math.inf
    except OverflowError:
        return -math.inf


def write_fence(storage: FileStorage, epoch: int, document: Mapping[str, Any]) -> None:
    """Write what the run of an epoch accepts of the runs before it."""
    storage.put(_path(epoch, _FENCE), encode_control(document))


def read_fence(storage: FileStorage) -> tuple[int, dict[str, Any]]:
    """Read the fence of the highest epoch that has one; epoch 0 when there is none."""
    epoch = max((epoch for epoch, suffix, _ in _list_files(storage) if suffix == _FENCE), default=0)
    return epoch, (read_control(storage, _path(epoch, _FENCE)) or {}) if epoch else {}


def _delete_old_epochs(storage: FileStorage, epoch: int) -> None:
    listed = _list_files(storage)
    last_fence = max((number for number, suffix, _ in listed if suffix == _FENCE), default=0)
    for number, suffix, name in listed:
        if number <= epoch - _KEPT_EPOCHS and (suffix != _FENCE or number < last_fence):
            storage.delete(f"{LEASE_FOLDER}/{name}")


def _list_files(storage: FileStorage) -> list[tuple[int, str, str]]:
    found = (_FILE_NAME.fullmatch(name) for name in storage.names(LEASE_FOLDER))
    return [(int(name[1]), name[2], name[0]) for name in found if name]


def _path(epoch: int, suffix: str) -> str:
    return f"{LEASE_FOLDER}/{epoch:0{_DIGITS}d}.{suffix}"
