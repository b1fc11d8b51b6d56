"""Files on a disk: a file appears whole and stays after a power cut, or it does not appear."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import IO

from penstock.package.entry import Entry

TEMPORARY = ".tmp-"


class LocalFiles:
    """Paths are absolute. Whatever is written is synced, and so is the folder that names it."""

    def read(self, path: str) -> bytes:
        """The whole content."""
        return Path(path).read_bytes()

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return Path(path).exists()

    def put(self, path: str, content: bytes) -> None:
        """Replace a file: readers see the old content or the new, never a part."""
        beside = _write_beside(Path(path), content)
        beside.replace(path)
        _sync(beside.parent)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Make a file under a name that nobody has taken; of many callers one gets True."""
        beside = _write_beside(Path(path), content)
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        finally:
            beside.unlink()
        _sync(beside.parent)
        return True

    def move(self, source: str, target: str) -> None:
        """Give a file another name, at once."""
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(source).replace(target)
        _sync(Path(target).parent)
        _sync(Path(source).parent)

    def entries(self, folder: str) -> list[Entry]:
        """What stands directly in a folder."""
        found = []
        with os.scandir(folder) as listing:
            for item in listing:
                if not item.name.startswith(TEMPORARY):
                    facts = item.stat()
                    found.append(Entry(item.name, facts.st_size, facts.st_mtime, item.is_dir()))
        return found

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it."""
        place = Path(path)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
        _sync(place.parent)

    def open_new(self, path: str) -> IO[bytes]:
        """A data file to be written; it is complete when closed."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return Path(path).open("wb")


def _write_beside(target: Path, content: bytes) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    path = target.parent / f"{TEMPORARY}{uuid.uuid4().hex}"
    # With the permissions that any new file gets: on a shared folder others must read it.
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    return path


def _sync(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # somebody deleted the package meanwhile: nothing is left to be kept
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
