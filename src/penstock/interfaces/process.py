"""Identify a process, and find out later whether it still runs."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

ProcessState: TypeAlias = Literal["running", "ended", "unknown"]


def machine_id() -> str | None:
    """Return the boot and the process table of this machine; containers share the first, not the second.

    None where the system does not report them.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return None


def has_ended(process: int) -> bool:
    """Return whether no process of this process table has that number, or only a defunct one."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    # A process that was killed keeps its number until its parent asks for its exit status.
    return _status(process)[:1] == ["Z"]


def process_start(process: int) -> str | None:
    """Return when a process began, in clock ticks since the boot; None where the system does not report it.

    Numbers of processes are used again: two that share a number do not share this.
    """
    fields = _status(process)
    return fields[_START_FIELD] if len(fields) > _START_FIELD else None


# Of the fields of /proc/<process>/stat after the name, which may hold blanks and parentheses.
_START_FIELD = 19


def _status(process: int) -> list[str]:
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return status.rpartition(")")[2].split()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """A process of some machine; by default this one.

    >>> ProcessId().state()
    'running'
    """

    host: str = field(default_factory=socket.gethostname)
    machine: str | None = field(default_factory=machine_id)
    process: int = field(default_factory=os.getpid)
    started: str | None = field(default_factory=lambda: process_start(os.getpid()))

    def state(self) -> ProcessState:
        """Return whether the process runs, as far as this machine knows."""
        here = machine_id()
        if self.machine is None or here is None or self.process <= 0:
            return "unknown"
        if self.machine == here:
            is_other = self.started is not None and process_start(self.process) not in {None, self.started}
            return "ended" if is_other or has_ended(self.process) else "running"
        was_restarted = self.machine.partition("/")[0] != here.partition("/")[0]
        return "ended" if was_restarted and self.host == socket.gethostname() else "unknown"
