"""Files in an object store: put, put if absent, copy, delete. Nothing is renamed."""

from __future__ import annotations

import random
import time
from datetime import datetime
from typing import IO, Any

from penstock.package.entry import Entry

_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")


class ObjectFiles:
    """Any file system of fsspec that is not the local disk."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def read(self, path: str) -> bytes:
        """The whole content."""
        content: bytes = self._files.cat_file(path)
        return content

    def exists(self, path: str) -> bool:
        """Whether an object, or anything below such a prefix, is there."""
        self._files.invalidate_cache()
        return bool(self._files.exists(path))

    def put(self, path: str, content: bytes) -> None:
        """Replace an object; stores do that at once."""
        self._files.pipe_file(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Make an object under a name that nobody has taken; `content` must be the caller's alone.

        The store itself decides. Its answer may be lost on the way, so what stands there is looked at: it is
        ours if it is what we sent.
        """
        try:
            self._create(path, content)
        except OSError:
            self._files.invalidate_cache()
            if not self._files.exists(path):
                raise
            return self.read(path) == content
        return True

    def _create(self, path: str, content: bytes) -> None:
        """S3 answers 409 when two conditional puts meet in flight: neither is decided, so ask again."""
        for pause in _PAUSES:
            try:
                self._files.pipe_file(path, content, mode="create")
            except OSError as error:
                if "ConditionalRequestConflict" not in str(error):
                    raise
                time.sleep(pause * random.random())
            else:
                return
        self._files.pipe_file(path, content, mode="create")

    def move(self, source: str, target: str) -> None:
        """Copy, then delete: a stop in between leaves both, and the further one counts."""
        self._files.cp_file(source, target)
        self._files.rm_file(source)

    def entries(self, folder: str) -> list[Entry]:
        """What stands directly below a prefix."""
        self._files.invalidate_cache()
        found = []
        for item in self._files.ls(folder, detail=True):
            name = str(item["name"]).rstrip("/")
            if name.strip("/") != folder.strip("/"):  # some stores list the folder itself
                size = int(item.get("size") or 0)
                found.append(
                    Entry(name.rsplit("/", 1)[-1], size, _modified(item), item["type"] == "directory")
                )
        return found

    def delete(self, path: str) -> None:
        """Delete an object, or everything below a prefix, in as few requests as the store allows."""
        self._files.invalidate_cache()
        self._files.rm(path, recursive=True)
        self._files.invalidate_cache()

    def open_new(self, path: str) -> IO[bytes]:
        """A data object to be written; it is there when closed."""
        stream: IO[bytes] = self._files.open(path, "wb")
        return stream


def _modified(item: dict[str, Any]) -> float:
    found = next((item[key] for key in _TIMES if item.get(key)), None)
    match found:
        case datetime():
            return found.timestamp()
        case int() | float():
            return float(found)
        case str():
            return datetime.fromisoformat(found).timestamp()
        case _:
            return 0.0
