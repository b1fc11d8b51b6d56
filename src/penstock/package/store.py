"""Small files on any storage.

Read, put, put if absent, list, delete. Nothing is ever renamed on an object store.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import IO, Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from penstock.errors import PackageDamaged
from penstock.spark.paths import local_path


class Store:
    """A folder of control files; paths are relative to it."""

    def __init__(self, root: str, **options: Any) -> None:
        self.root = root.rstrip("/")
        self._files, self._base = fsspec.core.url_to_fs(self.root, **options)
        self.is_local = isinstance(self._files, LocalFileSystem)

    def path(self, name: str = "") -> str:
        """The full address of a file, in the form the root was given in."""
        return f"{self.root}/{name}" if name else self.root

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None when there is none."""
        try:
            content: bytes = self._files.cat_file(self._at(name))
        except FileNotFoundError:
            return None
        return content

    def read_json(self, name: str) -> Any | None:
        """The content of a JSON file, or None when there is none."""
        content = self.read(name)
        if content is None:
            return None
        try:
            return json.loads(content)
        except ValueError as error:
            raise PackageDamaged(path=self.path(name), reason=str(error)) from error

    def exists(self, name: str) -> bool:
        """Whether a file or folder of that name is there."""
        return bool(self._files.exists(self._at(name)))

    def put(self, name: str, content: bytes) -> None:
        """Write a file so that readers see the old content or the new, never a part."""
        if self.is_local:
            temporary = self._write_beside(name, content)
            temporary.replace(self._at(name))
            _sync_folder(temporary.parent)
        else:
            self._files.pipe_file(self._at(name), content)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Write a file that must not be there yet; False when it was. Of two callers one gets True."""
        if self.is_local:
            return self._link_if_absent(name, content)
        try:
            self._files.pipe_file(self._at(name), content, mode="create")
        except FileExistsError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        """The names directly under a folder, sorted; empty when the folder is not there."""
        try:
            listing = self._files.ls(self._at(folder), detail=False, refresh=True)
        except FileNotFoundError:
            return []
        found = (str(entry).rstrip("/").rsplit("/", 1)[-1] for entry in listing)
        return sorted(name for name in found if not name.startswith(".tmp-"))

    def delete(self, name: str) -> None:
        """Delete a file or a folder with all that is in it; nothing to delete is no error."""
        try:
            self._files.rm(self._at(name), recursive=True)
        except FileNotFoundError:
            return

    def open_new(self, name: str) -> IO[bytes]:
        """Open a data file for writing; it is complete when closed."""
        if self.is_local:
            Path(self._at(name)).parent.mkdir(parents=True, exist_ok=True)
        stream: IO[bytes] = self._files.open(self._at(name), "wb")
        return stream

    def _at(self, name: str) -> str:
        return f"{self._base}/{name}" if name else str(self._base)

    def _write_beside(self, name: str, content: bytes) -> Path:
        folder = Path(self._at(name)).parent
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f".tmp-{uuid.uuid4().hex}"
        # With the permissions that any new file gets: on a shared folder others must read it.
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        return path

    def _link_if_absent(self, name: str, content: bytes) -> bool:
        temporary = self._write_beside(name, content)
        try:
            os.link(temporary, self._at(name))
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        _sync_folder(temporary.parent)
        return True


def as_json(document: Any) -> bytes:
    """One compact form for control files. Keys keep their order: that of columns is part of a schema."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def absolute(location: str) -> str:
    """A local path made absolute; an address with a scheme stays as it is."""
    path = local_path(location)
    return location if path is None else str(path.absolute())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
