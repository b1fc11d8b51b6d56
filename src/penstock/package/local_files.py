"""Files on a disk: a file appears complete and durable, or not at all."""

from __future__ import annotations

import io
import os
import shutil
import stat
import uuid
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Larger than any control file; without a limit a wrong file could fill the memory.
MAX_CONTROL_FILE_BYTES: Final = 256 * 1024 * 1024
TEMP_PREFIX: Final = ".tmp-"
_DELETE_ATTEMPTS = 10

_folders_to_sync: ContextVar[dict[str, None] | None] = ContextVar("_folders_to_sync", default=None)


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
        with open(path, "rb") as stream:
            return stream.read(MAX_CONTROL_FILE_BYTES + 1)

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return _stat(path) is not None

    def has_file(self, path: str) -> bool:
        """Return whether a file exists."""
        return _stat(path) is not None

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Replace a file atomically: readers see the old content or the new one.

        Without `durable` nothing is synced: after a power cut the file may be empty, old or missing.
        """
        temp_path = _write_temp_file(path, content, durable=durable)
        try:
            os.replace(temp_path, path)
        except OSError:
            _delete_temp_file(temp_path)
            raise
        if durable:
            _fsync_folder(_parent(path))

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Create a file that does not exist; of concurrent callers exactly one gets True."""
        temp_path = _write_temp_file(path, content)
        try:
            is_created = _link_if_absent(temp_path, path)
        finally:
            _delete_temp_file(temp_path)
        _fsync_folder(_parent(path))
        return is_created

    def move(self, source: str, target: str) -> None:
        """Rename a file atomically. After a power cut it may have both names, but never none."""
        folder = _parent(target)
        try:
            os.replace(source, target)
        except FileNotFoundError:
            if _stat(source) is None:  # before the target's folder is created
                raise
            _make_folder(folder)
            os.replace(source, target)
        _fsync_folder(folder)

    def entries(self, folder: str) -> list[DirEntry]:
        """List the direct entries of a folder. Links are not followed."""
        entries = []
        with os.scandir(folder) as listing:
            for item in listing:
                if item.name.startswith(TEMP_PREFIX):
                    continue
                try:
                    status = item.stat(follow_symlinks=False)
                except FileNotFoundError:  # moved or deleted since the listing began
                    continue
                is_folder = item.is_dir(follow_symlinks=False)
                entries.append(DirEntry(item.name, status.st_size, status.st_mtime, is_folder))
        return entries

    @property
    def supports_start_after(self) -> bool:
        """False: a disk lists a whole folder."""
        return False

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        """List the names of a folder, without a stat of the files."""
        del limit
        names = os.listdir(folder)
        if prefix or after:
            names = [name for name in names if name > after and name.startswith(prefix)]
        return [name for name in names if name[: len(TEMP_PREFIX)] != TEMP_PREFIX]

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all files below a folder by path. Links are not followed."""
        sizes: dict[str, int] = {}
        for entry in self.entries(folder):
            path = f"{folder}/{entry.name}"
            if not entry.is_folder:
                sizes[path] = entry.size
                continue
            with suppress(FileNotFoundError):  # deleted since the listing began
                sizes |= self.sizes(path)
        return sizes

    def copy(self, source: str, target: str) -> None:
        """Link a file, or copy it to another disk; the content is synced before it gets its name."""
        folder = _parent(target)
        _make_folder(folder)
        temp_path = _temp_path(folder)
        try:
            if not _link_as_new(source, temp_path):
                shutil.copyfile(source, temp_path)
            with open(temp_path, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(temp_path, target)
        finally:
            # A rename between two links of one file leaves both.
            _delete_temp_file(temp_path)
        _fsync_folder(folder)

    def delete(self, path: str) -> None:
        """Delete a file, a link, or a folder with its content."""
        if _is_folder(path, follow_symlinks=False):
            _delete_folder(path)
        else:
            os.unlink(path)
        _fsync_folder(_parent(path))

    def delete_file(self, path: str) -> None:
        """Delete a file or a link."""
        self.delete(path)

    def open_new(self, path: str) -> IO[bytes]:
        """Open a new data file for writing; it is complete and synced when closed."""
        _make_folder(_parent(path))
        return _SyncedFile(io.FileIO(path, "wb"))


class _SyncedFile(io.BufferedWriter):
    """A data file that is durable when closed, before a marker file refers to it."""

    def close(self) -> None:
        try:
            if not self.closed:
                self.flush()
                os.fsync(self.fileno())
                _fsync_folder(_parent(str(self.raw.name)))  # type: ignore[attr-defined]  # a FileIO
        finally:
            super().close()


def _write_temp_file(target: str, content: bytes, *, durable: bool = True) -> str:
    folder = _parent(target)
    path = _temp_path(folder)
    try:
        handle = _create_file(path)
    except FileNotFoundError:
        _make_folder(folder)
        handle = _create_file(path)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
    except OSError:  # such as a full disk
        _delete_temp_file(path)
        raise
    return path


def _link_as_new(source: str, target: str) -> bool:
    """Link a file that is not older than its link; return False if that is not possible.

    A table's VACUUM deletes old files that no commit refers to, and the commit comes after the link.
    """
    try:
        os.link(source, target)
        os.utime(target)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, one without hard links, or a file of another user
        _delete_temp_file(target)
        return False
    return True


def _create_file(path: str) -> int:
    # Default permissions: in a shared folder other users must be able to read it.
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)


def _temp_path(folder: str) -> str:
    return f"{folder}/{TEMP_PREFIX}{uuid.uuid4().hex}"


def _delete_temp_file(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _parent(path: str) -> str:
    return os.path.dirname(path)


def is_link(path: str) -> bool:
    """Return whether a link has this name."""
    status = _stat(path, follow_symlinks=False)
    return status is not None and stat.S_ISLNK(status.st_mode)


def _is_folder(path: str, *, follow_symlinks: bool = True) -> bool:
    status = _stat(path, follow_symlinks=follow_symlinks)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _stat(path: str, *, follow_symlinks: bool = True) -> os.stat_result | None:
    """Return the status of a file; None if it does not exist.

    Other errors are raised, unlike by `os.path`: a file on an unreachable disk is not a missing one.
    """
    try:
        return os.stat(path, follow_symlinks=follow_symlinks)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _link_if_absent(temp_path: str, path: str) -> bool:
    try:
        os.link(temp_path, path)
    except FileExistsError:
        # A network file system may link and lose the reply: two links prove that this call did it.
        return os.stat(temp_path).st_nlink > 1
    return True


def _make_folder(folder: str) -> None:
    if _is_folder(folder):
        return
    parent = _parent(folder)
    _make_folder(parent)
    try:
        os.mkdir(folder)
    except FileExistsError:  # another process has created it since, but may not have synced it
        if not _is_folder(folder):
            raise
    _fsync_folder(parent)


def _delete_folder(folder: str) -> None:
    """Delete a folder that another process may be deleting as well."""
    for _ in range(_DELETE_ATTEMPTS):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            if _stat(folder) is None:
                return
        else:
            return
    shutil.rmtree(folder)


@contextmanager
def folders_synced_at_end() -> Iterator[None]:
    """Sync each folder once at the end of a block, and not after each file that gets a name in it.

    The content of files is synced as always. Only for files that count once a later file is written: that
    one, and what put-if-absent decides, must not be written in the block. Other threads are not affected.
    """
    folders: dict[str, None] = {}
    token = _folders_to_sync.set(folders)
    try:
        yield
    finally:
        _folders_to_sync.reset(token)
        for folder in folders:
            _fsync_folder(folder)


def _fsync_folder(folder: str) -> None:
    postponed = _folders_to_sync.get()
    if postponed is not None:
        postponed[folder] = None
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # another process deleted the package meanwhile
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
