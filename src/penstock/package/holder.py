"""Who holds a lease, for the next one to read, and whether that process is certainly gone."""

from __future__ import annotations

import getpass
import os
import socket
import time
import uuid
from dataclasses import dataclass, field

from penstock.interfaces.process import has_ended, machine_id


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
