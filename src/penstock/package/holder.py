"""Who holds a lease, for the next one to read, and whether that process is certainly gone."""

from __future__ import annotations

import getpass
import os
import socket
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path


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
    """A process that holds the lease, or held it."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=socket.gethostname)
    machine: str | None = field(default_factory=_machine)
    process: int = field(default_factory=os.getpid)
    user: str = field(default_factory=_user)
    started_at: float = field(default_factory=time.time)
    beat: float = 5.0
    alive: float = 30.0

    def is_gone(self) -> bool:
        """True only when it is certain: the same machine and table of processes, and no such process."""
        if self.machine is None or self.machine != _machine() or self.process <= 0:
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            return False
        return _is_defunct(self.process)


def _is_defunct(process: int) -> bool:
    """A process that was killed keeps its number until its parent asks what became of it."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]
