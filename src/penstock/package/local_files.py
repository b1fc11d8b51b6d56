"""Files on a disk: a file appears complete and durable, or not at all."""

from __future__ import annotations

import io
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

# Larger than any control file; without a limit a wrong file could fill the memory.
MAX_CONTROL_FILE_BYTES: Final = 256 * 1024 * 1024
TEMP_PREFIX: Final = ".tmp-"
_DELETE_ATTEMPTS = 10


class DirEntry(NamedTuple):
    """A file or folder in a listing. `modified` is in seconds since 1970, 0.0 if unknown."""

    name: str
    size: int
    modified: float
    is_folder: bool


class LocalFiles:
    """Files on a disk; paths are absolute. Files and the folders that name them are synced after a write."""

    def read(self, path: str) -> bytes:
        """Return the whole content, at most one byte more than a control file may have."""
        with Path(path).open("rb") as stream:
            return stream.read(MAX_CONTROL_FILE_BYTES + 1)

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return Path(path).exists()

    def has_file(self, path: str) -> bool:
        """Return whether a file exists."""
        return Path(path).exists()

    def put(self, path: str, content: bytes) -> None:
        """Replace a file atomically: readers see the old content or the new one."""
        temp_file = _write_temp_file(Path(path), content)
        try:
            temp_file.replace(path)
        except OSError:
            temp_file.unlink(missing_ok=True)
            raise
        _fsync_folder(temp_file.parent)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Create a file that does not exist; of concurrent callers exactly one gets True."""
        temp_file = _write_temp_file(Path(path), content)
        try:
            is_created = _link_if_absent(temp_file, path)
        finally:
            temp_file.unlink(missing_ok=True)
        _fsync_folder(temp_file.parent)
        return is_created

    def move(self, source: str, target: str) -> None:
        """Rename a file atomically."""
        if not Path(source).exists():  # before the target's folder is created
            raise FileNotFoundError(source)
        _make_folder(Path(target).parent)
        Path(source).replace(target)
        _fsync_folder(Path(target).parent)
        _fsync_folder(Path(source).parent)

    def entries(self, folder: str) -> list[DirEntry]:
        """List the direct entries of a folder. Links are not followed."""
        entries = []
        with os.scandir(folder) as listing:
            for item in listing:
                if item.name.startswith(TEMP_PREFIX):
                    continue
                try:
                    stat = item.stat(follow_symlinks=False)
                except FileNotFoundError:  # moved or deleted since the listing began
                    continue
                is_folder = item.is_dir(follow_symlinks=False)
                entries.append(DirEntry(item.name, stat.st_size, stat.st_mtime, is_folder))
        return entries

    @property
    def supports_start_after(self) -> bool:
        """False: a disk lists a whole folder."""
        return False

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        """List the names of a folder, without a stat of the files."""
        del limit
        names = os.listdir(folder)  # noqa: PTH208 - a path for each of 100,000 names takes a second
        if prefix or after:
            names = [name for name in names if name > after and name.startswith(prefix)]
        return [name for name in names if name[: len(TEMP_PREFIX)] != TEMP_PREFIX]

    def tree(self, folder: str) -> list[str]:
        """List all files below a folder. Links are not followed."""
        paths = []
        for entry in self.entries(folder):
            path = f"{folder}/{entry.name}"
            if not entry.is_folder:
                paths.append(path)
                continue
            with suppress(FileNotFoundError):  # deleted since the listing began
                paths += self.tree(path)
        return paths

    def copy(self, source: str, target: str) -> None:
        """Link a file, or copy it to another disk; the content is synced before it gets its name."""
        _make_folder(Path(target).parent)
        temp_file = Path(target).parent / f"{TEMP_PREFIX}{uuid.uuid4().hex}"
        try:
            try:
                os.link(source, temp_file)
            except FileNotFoundError:
                raise
            except OSError:  # another disk, or one without hard links
                shutil.copyfile(source, temp_file)
            with temp_file.open("rb") as stream:
                os.fsync(stream.fileno())
            temp_file.replace(target)
        finally:
            # A rename between two links of one file leaves both.
            temp_file.unlink(missing_ok=True)
        _fsync_folder(temp_file.parent)

    def delete(self, path: str) -> None:
        """Delete a file, a link, or a folder with its content."""
        target = Path(path)
        if target.is_dir() and not target.is_symlink():
            _delete_folder(target)
        else:
            target.unlink()
        _fsync_folder(target.parent)

    def delete_file(self, path: str) -> None:
        """Delete a file or a link."""
        self.delete(path)

    def open_new(self, path: str) -> IO[bytes]:
        """Open a new data file for writing; it is complete and synced when closed."""
        _make_folder(Path(path).parent)
        return _SyncedFile(io.FileIO(path, "wb"))


class _SyncedFile(io.BufferedWriter):
    """A data file that is durable when closed, before a marker file refers to it."""

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
    # Default permissions: in a shared folder other users must be able to read it.
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
        # A network file system may link and lose the reply: two links prove that this call did it.
        return temp_file.stat().st_nlink > 1
    return True


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _fsync_folder(folder.parent)


def _delete_folder(folder: Path) -> None:
    """Delete a folder that another process may be deleting as well."""
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
    except FileNotFoundError:  # another process deleted the package meanwhile
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
