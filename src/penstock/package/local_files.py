"""Files on a disk: a file appears whole and stays after a power cut, or it does not appear."""

from __future__ import annotations

import io
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

# A control file that is larger is not one of ours; without a limit one file could fill the memory.
MAX_CONTROL_FILE_BYTES: Final = 256 * 1024 * 1024
TEMP_PREFIX: Final = ".tmp-"
_DELETE_ATTEMPTS = 10


class DirEntry(NamedTuple):
    """A file or folder as a listing shows it. `modified` is in seconds since 1970, 0.0 where unknown."""

    name: str
    size: int
    modified: float
    is_folder: bool


class LocalFiles:
    """Paths are absolute. Whatever is written is synced, and so are the folders that name it."""

    def read(self, path: str) -> bytes:
        """The whole content, or one byte more than a control file may have."""
        with Path(path).open("rb") as stream:
            return stream.read(MAX_CONTROL_FILE_BYTES + 1)

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return Path(path).exists()

    def put(self, path: str, content: bytes) -> None:
        """Replace a file: readers see the old content or the new, never a part."""
        beside = _write_temp_file(Path(path), content)
        try:
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        _fsync_folder(beside.parent)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Make a file under a name that nobody has taken; of many callers one gets True."""
        beside = _write_temp_file(Path(path), content)
        try:
            made = _link_if_absent(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        _fsync_folder(beside.parent)
        return made

    def move(self, source: str, target: str) -> None:
        """Give a file another name, at once."""
        if not Path(source).exists():  # before a folder is made for nothing
            raise FileNotFoundError(source)
        _make_folder(Path(target).parent)
        Path(source).replace(target)
        _fsync_folder(Path(target).parent)
        _fsync_folder(Path(source).parent)

    def entries(self, folder: str) -> list[DirEntry]:
        """What stands directly in a folder. Links are not followed."""
        found = []
        with os.scandir(folder) as listing:
            for item in listing:
                if item.name.startswith(TEMP_PREFIX):
                    continue
                try:
                    facts = item.stat(follow_symlinks=False)
                except FileNotFoundError:  # moved or deleted since the listing began
                    continue
                is_folder = item.is_dir(follow_symlinks=False)
                found.append(DirEntry(item.name, facts.st_size, facts.st_mtime, is_folder))
        return found

    @property
    def supports_start_after(self) -> bool:
        """A disk lists a folder as a whole."""
        return False

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        """List the names of a folder, without a look at the files themselves."""
        del limit
        found = os.listdir(folder)  # noqa: PTH208 - a path for each of 100,000 names takes a second
        if prefix or after:
            found = [name for name in found if name > after and name.startswith(prefix)]
        return [name for name in found if name[: len(TEMP_PREFIX)] != TEMP_PREFIX]

    def tree(self, folder: str) -> list[str]:
        """All files in a folder and in those below it. Links are not followed."""
        found = []
        for entry in self.entries(folder):
            path = f"{folder}/{entry.name}"
            if not entry.is_folder:
                found.append(path)
                continue
            with suppress(FileNotFoundError):  # deleted since the listing began
                found += self.tree(path)
        return found

    def copy(self, source: str, target: str) -> None:
        """Give a file a second name, or a copy where that is on another disk; the content is synced first."""
        _make_folder(Path(target).parent)
        beside = Path(target).parent / f"{TEMP_PREFIX}{uuid.uuid4().hex}"
        try:
            try:
                os.link(source, beside)
            except FileNotFoundError:
                raise
            except OSError:  # another disk, or one that has no second names
                shutil.copyfile(source, beside)
            with beside.open("rb") as stream:
                os.fsync(stream.fileno())
            beside.replace(target)
        finally:
            # Two names of one file are left as they are by a rename.
            beside.unlink(missing_ok=True)
        _fsync_folder(beside.parent)

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it; of a link only itself."""
        place = Path(path)
        if place.is_dir() and not place.is_symlink():
            _delete_folder(place)
        else:
            place.unlink()
        _fsync_folder(place.parent)

    def open_new(self, path: str) -> IO[bytes]:
        """A data file to be written; it is complete and synced when closed."""
        _make_folder(Path(path).parent)
        return _SyncedFile(io.FileIO(path, "wb"))


class _SyncedFile(io.BufferedWriter):
    """Marker files say that data files are there: after a power cut too."""

    def close(self) -> None:
        try:
            if not self.closed:
                self.flush()
                os.fsync(self.fileno())
                _fsync_folder(Path(str(self.raw.name)).parent)  # type: ignore[attr-defined]  # a FileIO
        finally:
            super().close()


def _write_temp_file(target: Path, content: bytes) -> Path:
    _make_folder(target.parent)
    path = target.parent / f"{TEMP_PREFIX}{uuid.uuid4().hex}"
    # With the permissions that any new file gets: on a shared folder others must read it.
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:  # such as a full disk
        path.unlink(missing_ok=True)
        raise
    return path


def _link_if_absent(temp_file: Path, path: str) -> bool:
    try:
        os.link(temp_file, path)
    except FileExistsError:
        # A network file system may do it and lose the answer: a file of ours with two names was linked.
        return temp_file.stat().st_nlink > 1
    return True


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _fsync_folder(folder.parent)


def _delete_folder(folder: Path) -> None:
    """Two processes may delete the same folder: what one of them finds gone is no reason to stop."""
    for _ in range(_DELETE_ATTEMPTS):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            if not folder.exists():
                return
        else:
            return
    shutil.rmtree(folder)


def _fsync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # somebody deleted the package meanwhile: nothing is left to be kept
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
