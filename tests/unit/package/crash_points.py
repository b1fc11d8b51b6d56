"""Stops a program before and after every durable operation, and opens storages that can be stopped.

On a disk each system call that changes a name is a point of its own, so a stop falls inside a put, between
the link and the unlink of a put-if-absent, and between two files of a folder that is being deleted. In an
object store each request is one, and a delete of many objects is as many points, in any order.
"""

from __future__ import annotations

import os
import random
import sys
import uuid
from typing import TYPE_CHECKING, Any, Protocol

from fsspec.implementations.memory import MemoryFileSystem

from penstock.package import FileStorage
from penstock.package.object_files import ObjectFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Crash(BaseException):
    """The simulated end of the process, which only the test may catch."""


def _crash() -> None:
    raise Crash


class CrashPoints:
    """Counts durable operations and crashes at one of them; later ones crash as well."""

    def __init__(self, *, stop: Callable[[], None] = _crash) -> None:
        self.seen: list[str] = []
        self._stop, self._at = stop, -1
        self._active = self._dead = False

    def arm(self, at: int | None) -> None:
        """Count from now on, and stop at the point with this number."""
        self.seen, self._at = [], -1 if at is None else at
        self._active, self._dead = True, False

    def disarm(self) -> None:
        """Stop counting and crashing."""
        self._active = self._dead = False

    def reach(self, what: str) -> None:
        """Record a durable operation, before or after it; crash if it is the armed one."""
        if not self._active:
            return
        if self._dead or len(self.seen) == self._at:
            self._dead = True
            self._stop()
        self.seen.append(what)


class StorageFactory(Protocol):
    """Creates storages of one kind."""

    def new_root(self) -> str:
        """Return an unused address."""

    def storage(self, root: str, points: CrashPoints) -> FileStorage:
        """Open the storage at an address, with crash points."""

    def clean(self, root: str) -> None:
        """Delete everything below an address."""


# --- on a disk

_CHANGES = frozenset(("os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir"))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_watching: list[tuple[str, CrashPoints]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Stop before a call that changes names on the disk, of which Python raises an audit event."""
    if not _watching:
        return
    if event not in _CHANGES and not (event == "open" and arguments[2] & _WRITING):
        return
    root, points = _watching[-1]
    path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else ""
    # Deleting a folder goes by names relative to an open folder.
    if path.startswith(root) or (path and not path.startswith("/")):
        points.reach(f"{event} {path.removeprefix(root)}")


class Disk:
    """A folder. Stops fall before each change of a name; what is after one is before the next."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not hasattr(sys, "_penstock_hook"):
            sys.addaudithook(_hook)
            sys._penstock_hook = True  # type: ignore[attr-defined]

    def new_root(self) -> str:
        return str(self._folder / uuid.uuid4().hex[:12])

    def storage(self, root: str, points: CrashPoints) -> FileStorage:
        _watching[:] = [(root, points)]
        return FileStorage(f"{root}/store")

    def clean(self, root: str) -> None:
        _watching.clear()
        FileStorage(root).delete("")


# --- in an object store


class CrashingFileSystem:
    """A file system of fsspec with a stop before and after each request that changes something."""

    def __init__(self, system: Any, points: CrashPoints) -> None:
        self._system, self._points = system, points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def _changing(self, name: str, path: str, *arguments: Any, **options: Any) -> None:
        self._points.reach(f"before {name} {path}")
        getattr(self._system, name)(path, *arguments, **options)
        self._points.reach(f"after {name} {path}")

    def pipe_file(self, path: str, content: bytes, **options: Any) -> None:
        self._changing("pipe_file", path, content, **options)

    def cp_file(self, source: str, target: str) -> None:
        self._changing("cp_file", source, target)

    def rm_file(self, path: str) -> None:
        self._changing("rm_file", path)

    def call_s3(self, method: str, **request: Any) -> Any:
        """Make a request to S3; a delete of many objects is as many requests."""
        if method not in {"copy_object", "delete_object", "delete_objects"}:
            return self._system.call_s3(method, **request)
        if method == "delete_objects":
            keys = [item["Key"] for item in request["Delete"]["Objects"]]
            random.Random(len(keys)).shuffle(keys)
            for key in keys:
                self.call_s3("delete_object", Bucket=request["Bucket"], Key=key)
            return {}
        self._points.reach(f"before {method} {request['Key']}")
        reply = self._system.call_s3(method, **request)
        self._points.reach(f"after {method} {request['Key']}")
        return reply

    def rm(self, path: str, *, recursive: bool) -> None:
        assert recursive
        if not self._system.exists(path):
            raise FileNotFoundError(path)
        paths = sorted(self._system.find(path)) or [path]
        random.Random(len(paths)).shuffle(paths)
        self._points.reach(f"before rm {path}")
        for key in paths:
            self._system.rm(key, recursive=True)
            self._points.reach(f"after rm {key}")
        if isinstance(self._system, MemoryFileSystem) and self._system.exists(path):
            self._system.rm(path, recursive=True)  # it has real folders, which a store has not


class ObjectStore:
    """An object store, by default one in memory that moves by copy and delete as the real ones do."""

    def __init__(self, prefix: str = "memory://penstock", **options: Any) -> None:
        self._prefix, self._options = prefix, options

    def new_root(self) -> str:
        return f"{self._prefix}/{uuid.uuid4().hex[:12]}"

    def storage(self, root: str, points: CrashPoints) -> FileStorage:
        system = FileStorage(root, **self._options).file_system
        return FileStorage(root, files=ObjectFiles(CrashingFileSystem(system, points)), **self._options)

    def clean(self, root: str) -> None:
        FileStorage(root, **self._options).delete("")
