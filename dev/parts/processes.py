"""Processes that outlive the command that starts them: started, recorded, found again and stopped."""

import contextlib
import http.client
import json
import os
import pwd
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from dev.parts.folders import PartFolders
from dev.parts.tools import run_tool

LOOPBACK: Final = "127.0.0.1"
GRACE_SECONDS: Final = 15.0
NO_ANSWER: Final = (OSError, http.client.HTTPException, ValueError)
"""Errors of a page that does not exist yet, or is incomplete."""

_given_out: set[int] = set()
_giving_out = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a process, and the variables that it exports."""

    command: tuple[str, ...]
    cwd: Path
    address: str
    env: Mapping[str, str] | None = None
    """The complete environment; None inherits the caller's."""
    user: str | None = None
    """None means the caller's own user."""
    umask: int = 0o022
    stop_signal: int = signal.SIGTERM
    exports: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    """Arguments of the later health check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A started process: the leader of a separate session."""

    part: str
    pid: int
    born: int
    """Start of the process in clock ticks since boot: a recycled pid has another one."""
    address: str
    stop_signal: int
    exports: dict[str, str]
    facts: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part that `up` can start."""

    name: str
    group: str
    """The name of the part on the command line."""
    launch: Callable[[PartFolders, Mapping[str, Started]], Launch]
    """Prepare the part and return how to start it; the arguments are the parts that it needs."""
    healthy: Callable[[PartFolders, Started], bool]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    pid: int
    state: str
    session: int
    born: int


def start(part: str, launch: Launch, folders: PartFolders) -> Started:
    """Start a process with its log, and record how to find it again."""
    entry = pwd.getpwnam(launch.user) if launch.user else None
    with folders.log(part).open("wb") as log:
        process = subprocess.Popen(
            launch.command,
            cwd=launch.cwd,
            env=launch.env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=entry.pw_uid if entry else None,
            group=entry.pw_gid if entry else None,
            extra_groups=[] if entry else None,
            umask=launch.umask,
        )
    leader = _read_process(process.pid)
    started = Started(
        part=part,
        pid=process.pid,
        born=leader.born if leader else 0,
        address=launch.address,
        stop_signal=launch.stop_signal,
        exports=launch.exports,
        facts=launch.facts,
    )
    record = folders.records / f"{part}.json"
    record.touch(mode=0o600)  # exports hold keys
    record.write_text(json.dumps(asdict(started), indent=2))
    return started


def read_started(folders: PartFolders) -> dict[str, Started]:
    """Return every recorded process, running or not."""
    records = (json.loads(path.read_text()) for path in sorted(folders.records.glob("*.json")))
    return {record["part"]: Started(**record) for record in records}


def is_alive(started: Started) -> bool:
    """Return whether the started process still runs."""
    leader = _read_process(started.pid)
    return leader is not None and leader.born == started.born and leader.state != "Z"


def stop(all_started: Iterable[Started], folders: PartFolders) -> None:
    """Stop processes and their children, gently first, and delete their records."""
    ending = tuple(all_started)
    for started in ending:
        _signal_session(started, started.stop_signal)
    _wait_for_end(ending)
    for started in ending:
        _signal_session(started, signal.SIGKILL)
    _wait_for_end(ending)  # a killed process may still write for a moment, into folders that are deleted next
    for started in ending:
        (folders.records / f"{started.part}.json").unlink(missing_ok=True)


def ensure_user(name: str) -> str | None:
    """Create a system user and return its name, or None without the rights of root."""
    if os.getuid() != 0:
        return None
    try:
        pwd.getpwnam(name)
    except KeyError:
        run_tool(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name])
    return name


def own_folder(folder: Path, user: str | None, *, mode: int = 0o755) -> Path:
    """Create a folder that belongs to the user of a part."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    return folder


def free_port() -> int:
    """Choose a port below the range from which the kernel serves outgoing connections, each once."""
    while True:
        port = random.randrange(20_000, 32_000)
        with _giving_out, socket.socket() as probe, contextlib.suppress(OSError):
            if port not in _given_out:
                probe.bind((LOOPBACK, port))
                _given_out.add(port)
                return port


def port_answers(address: str) -> bool:
    """Return whether a server accepts connections at `host:port`."""
    host, port = address.rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=2):
        return True
    return False


def url_answers(url: str) -> bool:
    """Return whether a page exists and reports health."""
    with contextlib.suppress(*NO_ANSWER), urllib.request.urlopen(url, timeout=2) as answer:
        return bool(answer.status == 200)  # noqa: PLR2004 - an HTTP status is its own name
    return False


def _wait_for_end(ending: tuple[Started, ...]) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    while any(_session(started) for started in ending) and time.monotonic() < deadline:
        time.sleep(0.1)


def _signal_session(started: Started, number: int) -> None:
    for process in _session(started):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _session(started: Started) -> list[_Process]:
    leader = _read_process(started.pid)
    if leader is not None and leader.born != started.born:
        return []
    return [each for each in _processes() if each.session == started.pid and each.state != "Z"]


def _processes() -> Iterator[_Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (process := _read_process(int(entry.name))):
            yield process


def _read_process(pid: int) -> _Process | None:
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return _Process(pid=pid, state=words[0], session=int(words[3]), born=int(words[19]))
