"""Small files in one folder, on a disk or in an object store."""

from __future__ import annotations

import io
import json
import re
import shutil
import uuid
from bisect import bisect_left, bisect_right
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import accumulate, islice
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from penstock.errors import PackageDamaged, UnsafePath, UsageError, translate_disk_full
from penstock.package.local_files import (
    MAX_CONTROL_FILE_BYTES,
    LocalFiles,
    folders_synced_at_end,
    is_link,
)
from penstock.package.object_files import ObjectFiles, StoreStream, translate_store_errors
from penstock.spark.paths import local_path
from penstock.spark.s3 import object_store_options, s3a_conf, s3fs_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from penstock.config import AwsCredentials
    from penstock.package.local_files import DirEntry

_MAX_BUFFERED_BYTES = 4 * 1024 * 1024
_MAX_PART_BYTES, _MAX_PATH_LENGTH = 255, 900
# Page sizes of a listing until it meets a range to skip, and after that.
_PROBE_SIZE, _PAGE_SIZE = 16, 1000
_MAX_SCANNED_RANGES = 4
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x1f\x7f\\]")


class Files(Protocol):
    """The operations of a storage; paths are full."""

    def read(self, path: str) -> bytes:
        """Return the whole content."""

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""

    def has_file(self, path: str) -> bool:
        """Return whether a file exists, where no folder has this name."""

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Replace a file atomically."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Create a file that does not exist; of concurrent callers exactly one gets True."""

    def move(self, source: str, target: str) -> None:
        """Move a file; the target exists before the source is deleted."""

    def entries(self, folder: str) -> list[DirEntry]:
        """List the direct entries of a folder."""

    @property
    def supports_start_after(self) -> bool:
        """Whether a listing can start after a name without reading the names before it."""

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        """List names of a folder, in any order: at least the first `limit` that match."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all files below a folder by path."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file; the target is complete or unchanged."""

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its content."""

    def delete_file(self, path: str) -> None:
        """Delete a file, where no folder has this name."""

    def open_new(self, path: str) -> IO[bytes]:
        """Open a new data file for writing."""


class FileStorage:
    """A folder of control files. Names are relative to it and cannot leave it.

    >>> storage = FileStorage("memory://demo")
    >>> storage.put("new_jobs/a.json", b"{}")
    >>> storage.names("new_jobs"), storage.read_json("new_jobs/a.json")
    (['a.json'], {})
    """

    def __init__(
        self,
        storage_path: str,
        *,
        files: Files | None = None,
        credentials: AwsCredentials | None = None,
        **options: Any,
    ) -> None:
        self.root, self._credentials = storage_path.rstrip("/"), credentials
        system, self._base = fsspec.core.url_to_fs(
            self.root, **{**s3fs_options(self.root, credentials), **options}
        )
        self.is_local = isinstance(system, LocalFileSystem)
        self.file_system: Any = system
        self._files: Files = files or (LocalFiles() if self.is_local else ObjectFiles(system))

    def subfolder(self, name: str) -> FileStorage:
        """Return the storage of a subfolder, with the same connection."""
        storage = copy(self)
        storage.__dict__.update(root=self.path(name), _base=f"{self._base}/{safe_name(name)}")
        return storage

    def with_root(self, address: str) -> FileStorage:
        """Return the storage of another folder of the same kind, with the same connection."""
        storage = copy(self)
        storage.__dict__.update(root=address.rstrip("/"), _base=self.file_system._strip_protocol(address))  # noqa: SLF001 - fsspec has no public parser of addresses
        return storage

    @property
    def conditional_writes(self) -> bool:
        """Whether the user declares that the S3 server checks `If-None-Match` atomically."""
        return self._credentials is not None and bool(self._credentials.conditional_writes)

    @property
    def credentials(self) -> AwsCredentials | None:
        """The credentials that it was opened with."""
        return self._credentials

    @property
    def hadoop_conf(self) -> dict[str, str]:
        """The settings with which Spark opens it with the same credentials; they contain secrets."""
        return s3a_conf(self.root, self._credentials)

    @property
    def object_store_options(self) -> dict[str, str] | None:
        """The options with which deltalake opens it on S3; None if the keys are not in the settings.

        They contain secrets.
        """
        return object_store_options(self.root, self._credentials)

    def path(self, name: str = "") -> str:
        """Return the full address of a file, in the form of the root."""
        return f"{self.root}/{safe_name(name)}" if name else self.root

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None when it does not exist."""
        try:
            with self._translate_path_errors(name):
                content = self._files.read(self._resolve(name))
        except FileNotFoundError:
            return None
        if len(content) > MAX_CONTROL_FILE_BYTES:
            raise PackageDamaged(
                path=self.path(name), reason=f"it has more than {MAX_CONTROL_FILE_BYTES} bytes"
            )
        return content

    def read_json(self, name: str) -> Any | None:
        """Return the content of a JSON file; None when it does not exist."""
        content = self.read(name)
        return None if content is None else self.decode_json(name, content)

    def decode_json(self, name: str, content: bytes) -> Any:
        """Decode the content of a JSON file; an error names the file."""
        document = from_json(content, path=self.path(name))
        if document is None:  # None means a missing file
            raise PackageDamaged(path=self.path(name), reason="it contains only null")
        return document

    def exists(self, name: str) -> bool:
        """Return whether a file or folder of that name exists."""
        return self._files.exists(self._resolve(name))

    def has_file(self, name: str) -> bool:
        """Return whether a file exists; no folder may have this name."""
        return self._files.has_file(self._resolve(name))

    def put(self, name: str, content: bytes, *, durable: bool = True) -> None:
        """Write a file atomically: readers see the old content or the new one.

        `durable=False` is for files that only save work: after a power cut the file may be empty, old or
        missing. It spares a disk two syncs.
        """
        with self._translate_path_errors(name):
            self._files.put(self._resolve(name), content, durable=durable)

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Write a file unless it exists; of concurrent callers exactly one gets True."""
        with self._translate_path_errors(name):
            return self._files.put_if_absent(self._resolve(name), content)

    def move(self, source: str, target: str) -> bool:
        """Move a file; return False when it does not exist, since another process has moved it."""
        try:
            with self._translate_path_errors(target):
                self._files.move(self._resolve(source), self._resolve(target))
        except FileNotFoundError:
            return False
        return True

    def names(self, folder: str, *, prefix: str = "", after: str = "", limit: int | None = None) -> list[str]:
        """List the names directly under a folder, sorted; empty when the folder does not exist.

        Only names that begin with `prefix` and sort after `after`, and of those the first `limit`.
        """
        try:
            with self._translate_path_errors(folder):
                names = self._files.names(self._resolve(folder), prefix=prefix, after=after, limit=limit)
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name > after and name.startswith(prefix))[:limit]

    def names_outside(self, folder: str, ranges: Iterable[tuple[str, str]]) -> list[str]:
        """List the names under a folder that are in none of the closed ranges, sorted.

        A store that can start a listing after a name skips the names in the ranges.
        """
        skipped = sorted(ranges)
        if not self._files.supports_start_after:
            return _names_outside(self._list_names(folder), skipped)
        outside: list[str] = []
        after, limit = "", _PROBE_SIZE
        while True:
            page = self.names(folder, after=after, limit=limit)
            for name in page:
                end = _end_of_range(name, skipped)
                if end is not None:
                    after, limit = end, _PROBE_SIZE
                    break
                outside.append(name)
                after = name
            else:
                if len(page) < limit:
                    return outside
                limit = _PAGE_SIZE

    def _list_names(self, folder: str) -> list[str]:
        try:
            with self._translate_path_errors(folder):
                return self._files.names(self._resolve(folder), prefix="", after="", limit=None)
        except FileNotFoundError:
            return []

    def entries(self, folder: str) -> list[DirEntry]:
        """List the entries of a folder, sorted by name; empty when the folder does not exist."""
        try:
            with self._translate_path_errors(folder):
                return sorted(self._files.entries(self._resolve(folder)))
        except FileNotFoundError:
            return []

    def tree(self, folder: str) -> list[str]:
        """List the names of all files below a folder, sorted; empty when it does not exist."""
        return [f"{folder}/{name}" if folder else name for name in self.sizes(folder)]

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all files below a folder by their sorted names, relative to the folder."""
        path = self._resolve(folder)
        try:
            sizes = self._files.sizes(path)
        except FileNotFoundError:
            return {}
        return {name[len(path) + 1 :]: sizes[name] for name in sorted(sizes)}

    def copy_from(self, other: FileStorage, source: str, target: str) -> None:
        """Copy a data file from another folder, inside the store where both are in the same one."""
        if self.file_system == other.file_system:
            with translate_disk_full(self.path(target)):
                self._files.copy(other._resolve(source), self._resolve(target))
            return
        # On a disk an incomplete file is visible; in an object store it is not.
        temporary = f"{target}.{uuid.uuid4().hex}" if self.is_local else target
        with other.open(source) as read, self.open_new(temporary) as write:
            shutil.copyfileobj(read, write)
        if temporary != target:
            self.move(temporary, target)

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with its content; a missing one is no error."""
        try:
            self._files.delete(self._resolve(name, check_last=False))
        except FileNotFoundError:
            return

    def delete_file(self, name: str) -> None:
        """Delete a file; a missing one is no error. No folder may have this name."""
        try:
            self._files.delete_file(self._resolve(name, check_last=False))
        except FileNotFoundError:
            return

    def open(self, name: str, *, size: int | None = None) -> IO[bytes]:
        """Open a data file for reading; in a store in one request if its size is given and small."""
        if size is not None and size <= _MAX_BUFFERED_BYTES and not self.is_local:
            content = self.read(name)
            if content is not None:
                return io.BytesIO(content)
        with translate_store_errors(self.path(name)):
            stream = self.file_system.open(self._resolve(name), "rb")
        return stream if self.is_local else cast("IO[bytes]", StoreStream(stream, self.path(name)))

    def read_start(self, name: str, size: int) -> bytes | None:
        """Return the first bytes of a file, in one request; None when it does not exist."""
        try:
            with translate_store_errors(self.path(name)):
                content: bytes = self.file_system.cat_file(self._resolve(name), start=0, end=size)
        except FileNotFoundError:
            return None
        return content

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        with translate_store_errors(self.path(name)):
            self.file_system.invalidate_cache()
            return int(self.file_system.size(self._resolve(name)))

    def open_new(self, name: str) -> IO[bytes]:
        """Open a data file for writing; it is complete when closed."""
        with translate_disk_full(self.path(name)):
            stream = self._files.open_new(self._resolve(name))
        return cast("IO[bytes]", StoreStream(stream, self.path(name)))

    def folders_synced_at_end(self) -> AbstractContextManager[None]:
        """Return a block that on a disk syncs each folder once, at its end.

        All files that are written in it must count only once a file is written after it.
        """
        return folders_synced_at_end() if self.is_local else nullcontext()

    @contextmanager
    def _translate_path_errors(self, name: str) -> Iterator[None]:
        try:
            with translate_disk_full(self.path(name)):
                yield
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            reason = "a file exists where a folder is expected, or a folder where a file is"
            raise PackageDamaged(path=self.path(name), reason=reason) from error

    def _resolve(self, name: str, *, check_last: bool = True) -> str:
        """Return the full path of a file; refuse links on it, the last part only with `check_last`."""
        if not name:
            return str(self._base)
        path = f"{self._base}/{safe_name(name)}"
        if self.is_local:
            parts = name.split("/")
            paths = accumulate(parts if check_last else parts[:-1], "{}/{}".format, initial=self._base)
            if any(is_link(ancestor) for ancestor in islice(paths, 1, None)):
                raise PackageDamaged(path=self.path(name), reason="a link leads out of its folder")
        return path

    def __repr__(self) -> str:
        return f"FileStorage({self.root!r})"


def as_json(document: Any) -> bytes:
    """Encode compactly, with keys in their order: the order of columns is part of a schema."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"this has no JSON form: {error}", hint="use texts, numbers, lists, and dicts with texts as keys"
        ) from error


def from_json(content: bytes, *, path: str) -> Any:
    """Decode JSON. A duplicate key is damage: either value could be meant."""
    try:
        return json.loads(content, object_pairs_hook=_unique_object)
    except (ValueError, RecursionError) as error:
        raise PackageDamaged(path=path, reason=str(error)) from error


def absolute_path(location: str) -> str:
    """Return a local path as an absolute one, and an address with a scheme unchanged."""
    path = local_path(location)
    return location if path is None else str(path.absolute())


def safe_name(name: str) -> str:
    """Return the name; refuse one that leaves its folder or that some storage cannot hold."""
    if len(name) > _MAX_PATH_LENGTH:
        raise UnsafePath(name=name[:80] + "…", reason=f"it is longer than {_MAX_PATH_LENGTH} characters")
    if _FORBIDDEN_CHARACTERS.search(name):
        raise UnsafePath(name=name, reason="it has a backslash or a control character in it")
    for part in name.split("/"):
        if part in {"", ".", ".."}:
            raise UnsafePath(name=name, reason="it leads out of its folder or has an empty part")
        if len(_utf8(part)) > _MAX_PART_BYTES:
            raise UnsafePath(name=part[:80] + "…", reason=f"a part is longer than {_MAX_PART_BYTES} bytes")
    return name


def _end_of_range(name: str, ranges: Sequence[tuple[str, str]]) -> str | None:
    """Return the end of the range that contains a name."""
    return next((end for start, end in ranges if start <= name <= end), None)


def _names_outside(names: list[str], ranges: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names in none of the ranges, sorted.

    >>> _names_outside(["c", "a", "b1"], [("b", "b2")])
    ['a', 'c']
    """
    if len(ranges) > _MAX_SCANNED_RANGES:
        names.sort()
        for start, end in ranges:
            del names[bisect_left(names, start) : bisect_right(names, end)]
        return names
    for start, end in ranges:
        names = [name for name in names if not start <= name <= end]
    return sorted(names)


def _utf8(part: str) -> bytes:
    try:
        return part.encode()
    except UnicodeEncodeError as error:
        raise UnsafePath(name=part[:80], reason="it has half of a character in it") from error


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key occurs twice")
    return document
