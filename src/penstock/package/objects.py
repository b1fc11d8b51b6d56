"""Files in an object store: put, put if absent, copy, delete. Nothing is renamed."""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from penstock.config import redact
from penstock.errors import StorageFull, StorageNotReachable, StorageRefused, full_storage_named
from penstock.package.answers import is_taken, is_torn, is_undecided, not_now, refused
from penstock.package.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Reply = TypeVar("_Reply")
_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)
_TRIES = 3
# aiohttp waits without end for a server that does not say whether it wants the body of a put.
LONGEST_PUT: Final = 120.0
_BYTES_A_SECOND = 1_000_000
_PAGE = 1000
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")


@contextmanager
def answering(path: str) -> Iterator[None]:
    """Client libraries have errors of their own for a store that does not answer, or that lets nobody in.

    They become ours; what only says that a file is there, or is not, stays.
    """
    try:
        with full_storage_named(path):
            yield
    except (StorageFull, StorageNotReachable, StorageRefused):
        raise
    except Exception as error:
        if reason := refused(error, path):
            raise StorageRefused(path=path, reason=redact(reason)) from error
        if reason := not_now(error):
            raise StorageNotReachable(path=path, reason=redact(reason)) from error
        raise


def _retry(request: Callable[[], _Reply], may_pass: Callable[[Exception], bool]) -> _Reply:
    """Repeat a request while its error may pass, after pauses of random length."""
    for pause in _PAUSES:
        try:
            return request()
        except Exception as error:
            if not may_pass(error):
                raise
            time.sleep(pause * random.random())  # noqa: S311 - the length of a pause
    return request()


class ObjectFiles:
    """Any file system of fsspec that is not the local disk."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def read(self, path: str) -> bytes:
        """Read the whole content; request it again where a reply does not match its checksum."""
        with answering(path):
            content: bytes = _retry(lambda: self._files.cat_file(path), is_torn)
        return content

    def exists(self, path: str) -> bool:
        """Whether an object, or anything below such a prefix, is there."""
        with answering(path):
            self._files.invalidate_cache()
            return bool(self._files.exists(path))

    def put(self, path: str, content: bytes) -> None:
        """Replace an object; stores do that at once."""
        with answering(path):
            self._pipe(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Make an object under a name that nobody has taken; `content` must be the caller's alone.

        The store itself decides. Its answer may be lost on the way, so what stands there is looked at: it is
        ours if it is what we sent.
        """
        for _ in range(_TRIES):
            try:
                with answering(path):
                    self._create(path, content)
            except OSError as error:
                if self._appears(path, pauses=_PAUSES if is_taken(error) else ()):
                    return self.read(path) == content
                if not is_taken(error):
                    raise
            else:
                return True
        # Whoever had it may have deleted it meanwhile; but not every time.
        raise StorageNotReachable(
            path=path, reason="it says that this name is taken, and shows nothing there"
        )

    def _appears(self, path: str, *, pauses: tuple[float, ...]) -> bool:
        """Whether an object is seen. Some stores say that a name is taken a moment before they show it."""
        for pause in pauses:
            if self.exists(path):
                return True
            time.sleep(pause)
        return self.exists(path)

    def _create(self, path: str, content: bytes) -> None:
        """S3 answers 409 when two conditional puts meet in flight: neither is decided, so ask again."""
        _retry(lambda: self._pipe(path, content, mode="create"), is_undecided)

    def _pipe(self, path: str, content: bytes, **how: str) -> None:
        if getattr(self._files, "async_impl", False):
            limit = LONGEST_PUT + len(content) / _BYTES_A_SECOND
            self._files.pipe_file(path, content, timeout=limit, **how)
        else:
            self._files.pipe_file(path, content, **how)

    def move(self, source: str, target: str) -> None:
        """Copy, then delete: a stop in between leaves both, and the further one counts."""
        with answering(source):
            self._files.cp_file(source, target)
            self._files.rm_file(source)

    def entries(self, folder: str) -> list[Entry]:
        """What stands directly below a prefix."""
        with answering(folder):
            self._files.invalidate_cache()
            items = self._files.ls(folder, detail=True)
        # Some stores list the folder itself.
        return [_entry(item) for item in items if str(item["name"]).strip("/") != folder.strip("/")]

    @property
    def can_seek(self) -> bool:
        """S3 starts a listing after any key."""
        protocol = self._files.protocol
        return "s3" in ((protocol,) if isinstance(protocol, str) else protocol)

    def names(self, folder: str, *, prefix: str, after: str, most: int | None) -> list[str]:
        """List the names below a prefix; on S3 those before `after` cost nothing."""
        if not self.can_seek:
            return [entry.name for entry in self.entries(folder)]
        bucket, key, _ = self._files.split_path(folder)
        root = f"{key}/" if key else ""
        request = {"Bucket": bucket, "Prefix": f"{root}{prefix}", "Delimiter": "/"}
        request |= {"StartAfter": f"{root}{after}"} if after else {}
        names: list[str] = []
        while most is None or len(names) < most:
            request["MaxKeys"] = min(_PAGE, most - len(names)) if most else _PAGE
            with answering(folder):
                page = self._files.call_s3("list_objects_v2", **request)
            paths = [item["Key"] for item in page.get("Contents", ())]
            paths += [item["Prefix"] for item in page.get("CommonPrefixes", ())]
            names += [path.removeprefix(root).rstrip("/") for path in paths if path != root]
            if not page.get("IsTruncated"):
                break
            request["ContinuationToken"] = page["NextContinuationToken"]
        return names

    def tree(self, folder: str) -> list[str]:
        """All objects below a prefix, in as few requests as the store allows."""
        with answering(folder):
            self._files.invalidate_cache()
            return [str(name) for name in self._files.find(folder)]

    def copy(self, source: str, target: str) -> None:
        """A copy that the store makes by itself."""
        with answering(source):
            self._files.cp_file(source, target)

    def delete(self, path: str) -> None:
        """Delete an object, or everything below a prefix, in as few requests as the store allows."""
        for pause in _PAUSES:
            with answering(path):
                self._files.invalidate_cache()
                self._files.rm(path, recursive=True)
            # A store may say of single objects that it did not delete them; the client keeps that to itself.
            if not self.exists(path):
                return
            time.sleep(pause)
        raise StorageNotReachable(path=path, reason="it was told to delete this, and it is still there")

    def open_new(self, path: str) -> IO[bytes]:
        """A data object to be written; it is there when closed."""
        with answering(path):
            stream: IO[bytes] = self._files.open(path, "wb")
        return stream


def _entry(item: dict[str, Any]) -> Entry:
    name = str(item["name"]).rstrip("/").rsplit("/", 1)[-1]
    return Entry(name, int(item.get("size") or 0), _modified(item), item["type"] == "directory")


def _modified(item: dict[str, Any]) -> float:
    found = next((item[key] for key in _TIMES if item.get(key)), None)
    match found:
        case datetime():
            return found.timestamp()
        case int() | float():
            return float(found)
        case str():
            return _parsed(found)
        case _:
            return 0.0


def _parsed(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
