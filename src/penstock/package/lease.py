"""One run of a pipeline at a time: a lease that is a chain of epochs, each taken by put-if-absent.

The holder of the highest epoch holds the lease and beats: it rewrites a small file. Whoever finds a beat
that is old by the clock watches it for longer than a living holder would let pass, by a clock that cannot
jump, and only then takes the next epoch. The lease saves work; what keeps a late holder from deciding
anything is the sequence slot.
"""

from __future__ import annotations

import getpass
import os
import socket
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import LeaseLost, PackageDamaged, PipelineLocked
from penstock.package.control import current_form, read_control, versioned
from penstock.package.layout import LEASE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.package.storage import FileStorage

_DIGITS = 10
_KEPT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """Seconds. A holder beats every `beat`; one that has not beaten for `alive` may be taken for dead."""

    beat: float = 5.0
    alive: float = 30.0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _machine() -> str | None:
    """This boot of this machine, and which table of processes: containers share the one, not the other."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds the lease, for the next one to read."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=socket.gethostname)
    machine: str | None = field(default_factory=_machine)
    process: int = field(default_factory=os.getpid)
    user: str = field(default_factory=_user)
    started_at: float = field(default_factory=time.time)
    beat: float = 5.0
    alive: float = 30.0


class Lease:
    """A lease that this process holds. Use `held`, or call `release` in the end.

    `on_lost` is called once, from the beating thread, when another run has taken over or the storage cannot
    be reached for so long that one may have.
    """

    def __init__(
        self, storage: FileStorage, epoch: int, holder: Holder, *, on_lost: Callable[[], None] | None = None
    ) -> None:
        self._storage, self.epoch, self.holder = storage, epoch, holder
        self._on_lost = on_lost
        self._last_beat = time.monotonic()
        self._count = 0
        self._lost, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-lease", daemon=True)
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """Whether this process must stop working for the pipeline."""
        return self._lost.is_set()

    def check(self) -> None:
        """Stop here if the lease is lost, or if it was not renewed for so long that it may be."""
        if time.monotonic() - self._last_beat > self.holder.alive:
            self._lose()
        if self._lost.is_set():
            raise LeaseLost(epoch=self.epoch, host=self.holder.host)

    def release(self) -> None:
        """Give the lease back; the next run need not wait."""
        self._ended.set()
        self._thread.join(timeout=self.holder.alive)
        if not self._lost.is_set():
            self._storage.put(_path(self.epoch, "released"), versioned({"token": self.holder.token}))

    def _run(self) -> None:
        while not self._ended.wait(self.holder.beat):
            try:
                self._beat()
            except (OSError, PackageDamaged):
                # A storage that does not answer may come back in time; the deadline decides.
                late = time.monotonic() - self._last_beat > self.holder.alive
            else:
                late = False
            if late:
                self._lose()
            if self._lost.is_set():
                return

    def _beat(self) -> None:
        if highest(self._storage) > self.epoch:
            self._lose()
            return
        begun = time.monotonic()
        self._count += 1
        beat(self._storage, self.epoch, self._count)
        self._last_beat = begun

    def _lose(self) -> None:
        if not self._lost.is_set():
            self._lost.set()
            if self._on_lost is not None:
                self._on_lost()


def acquire(
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
    holder = Holder(beat=limits.beat, alive=limits.alive)
    epoch = highest(storage)
    if epoch and not storage.exists(_path(epoch, "released")):
        _wait_for_death(storage, epoch, pipeline)
    mine = epoch + 1
    if not storage.put_if_absent(_path(mine, "json"), versioned(asdict(holder))) or highest(storage) > mine:
        raise _locked(storage, highest(storage), pipeline)
    beat(storage, mine, 0)
    _tidy(storage, mine)
    return Lease(storage, mine, holder, on_lost=on_lost)


@contextmanager
def held(
    storage: FileStorage,
    *,
    pipeline: str,
    times: LeaseTimes | None = None,
    on_lost: Callable[[], None] | None = None,
) -> Iterator[Lease]:
    """Hold the lease for the time of a block."""
    lease = acquire(storage, pipeline=pipeline, times=times, on_lost=on_lost)
    try:
        yield lease
    finally:
        lease.release()


def highest(storage: FileStorage) -> int:
    """The epoch that counts, 0 when nobody ever held the lease."""
    epochs = (name.removesuffix(".json") for name in storage.names(LEASE) if name.endswith(".json"))
    return max((int(epoch) for epoch in epochs if epoch.isdecimal()), default=0)


def beat(storage: FileStorage, epoch: int, count: int) -> None:
    """Show that the holder lives."""
    storage.put(_path(epoch, "beat"), versioned({"count": count, "at": time.time()}))


def _wait_for_death(storage: FileStorage, epoch: int, pipeline: str) -> None:
    """Return when the holder is dead; raise at once while it shows signs of life."""
    holder = _holder(storage, epoch)
    if _process_is_gone(holder):
        return
    seen = _last_beat(storage, epoch)
    if _age(holder, seen) < holder.alive:
        raise _locked(storage, epoch, pipeline)
    # Old by the clock, which may be wrong on either side: a living holder beats while it is watched.
    until = time.monotonic() + max(holder.alive, 2 * holder.beat)
    while time.monotonic() < until:
        time.sleep(min(holder.beat, 1.0))
        if storage.exists(_path(epoch, "released")):
            return
        if _last_beat(storage, epoch) != seen or highest(storage) > epoch:
            raise _locked(storage, highest(storage), pipeline)


def _locked(storage: FileStorage, epoch: int, pipeline: str) -> PipelineLocked:
    holder = _holder(storage, epoch)
    return PipelineLocked(
        pipeline=pipeline,
        host=holder.host,
        process=holder.process,
        user=holder.user,
        age=max(0.0, time.time() - holder.started_at),
        alive=holder.alive,
    )


def _holder(storage: FileStorage, epoch: int) -> Holder:
    path = _path(epoch, "json")
    try:
        return Holder(**current_form(storage.read_json(path), "lease", path=storage.path(path)))
    except TypeError as error:
        raise PackageDamaged(path=storage.path(path), reason=str(error)) from error


def _last_beat(storage: FileStorage, epoch: int) -> dict[str, Any]:
    return read_control(storage, _path(epoch, "beat"), "beat") or {}


def _age(holder: Holder, seen: dict[str, Any]) -> float:
    return time.time() - float(seen.get("at", holder.started_at))


def _process_is_gone(holder: Holder) -> bool:
    """True only when it is certain: the same machine and table of processes, and no such process."""
    if holder.machine is None or holder.machine != _machine():
        return False
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _tidy(storage: FileStorage, epoch: int) -> None:
    for name in storage.names(LEASE):
        number = name.split(".", 1)[0]
        if number.isdecimal() and int(number) <= epoch - _KEPT:
            storage.delete(f"{LEASE}/{name}")


def _path(epoch: int, suffix: str) -> str:
    return f"{LEASE}/{epoch:0{_DIGITS}d}.{suffix}"
