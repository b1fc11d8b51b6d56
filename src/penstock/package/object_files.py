"""Files in an object store: put, put if absent, copy, delete; the errors of its client, and retries."""

from __future__ import annotations

import random
import time
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from penstock.config import redact
from penstock.errors import StorageAccessDenied, StorageFull, StorageNotReachable, translate_disk_full
from penstock.package.local_files import DirEntry
from penstock.package.s3_requests import S3Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

_Reply = TypeVar("_Reply")
_RETRY_DELAYS = (0.1, 0.2, 0.4, 0.8, 1.6)
_CREATE_ATTEMPTS = 3
# aiohttp waits forever for a server that does not answer `Expect: 100-continue`.
PUT_TIMEOUT: Final = 120.0
_MIN_BYTES_PER_SECOND = 1_000_000
_MODIFIED_KEYS = ("LastModified", "last_modified", "updated", "mtime", "created")
_PRECONDITION_FAILED: Final = 412
_TRANSIENT_STATUSES: Final = frozenset((408, 409, 429))
_FIRST_SERVER_ERROR: Final = 500
_NOT_IMPLEMENTED: Final = 501
# Errors that a retry would get again: codes of S3, and errors that its client raises before a request.
_PERMANENT_CODES: Final = frozenset(
    (
        *("NoSuchBucket", "InvalidBucketName", "PermanentRedirect", "301", "400"),
        *("AuthorizationHeaderMalformed", "InvalidToken", "TokenRefreshRequired"),
    )
)
_TRANSIENT_CODES: Final = frozenset(
    ("500", "502", "503", "504", "InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout")
)
_CREDENTIAL_ERRORS: Final = frozenset(
    ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "NoAuthTokenError")
)


@contextmanager
def translate_store_errors(path: str) -> Iterator[None]:
    """Translate errors of client libraries about access and availability into ours.

    Errors that a file exists, or does not exist, are raised unchanged.
    """
    try:
        with translate_disk_full(path):
            yield
    except (StorageFull, StorageNotReachable, StorageAccessDenied):
        raise
    except Exception as error:
        if reason := _permanent_failure_reason(error, path):
            raise StorageAccessDenied(path=path, reason=redact(reason)) from error
        if reason := _transient_failure_reason(error):
            raise StorageNotReachable(path=path, reason=redact(reason)) from error
        raise


def _retry(request: Callable[[], _Reply], is_transient: Callable[[Exception], bool]) -> _Reply:
    """Repeat a request while its error is transient, with backoff and jitter."""
    for pause in _RETRY_DELAYS:
        try:
            return request()
        except Exception as error:
            if not is_transient(error):
                raise
            time.sleep(pause * random.random())  # noqa: S311 - jitter
    return request()


class ObjectFiles:
    """Files in any file system of fsspec that is not the local disk."""

    def __init__(self, file_system: Any) -> None:
        self._file_system = file_system
        self._s3 = S3Requests(file_system) if _is_s3(file_system) else None

    def read(self, path: str) -> bytes:
        """Return the whole content; retry a reply that does not match its checksum."""
        read = self._s3.read if self._s3 else self._file_system.cat_file
        with translate_store_errors(path):
            content: bytes = _retry(lambda: read(path), _is_checksum_mismatch)
        return content

    def exists(self, path: str) -> bool:
        """Return whether an object, or any object below the prefix, exists."""
        with translate_store_errors(path):
            if self._s3:
                return self._s3.has_object(path) or self._s3.has_objects_below(path)
            self._file_system.invalidate_cache()
            return bool(self._file_system.exists(path))

    def has_file(self, path: str) -> bool:
        """Return whether an object exists; a prefix is none."""
        if not self._s3:
            return self.exists(path)
        with translate_store_errors(path):
            return self._s3.has_object(path)

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Replace an object, which stores do atomically and durably."""
        del durable
        with translate_store_errors(path):
            self._pipe(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Create an object that does not exist; `content` must be unique to the caller.

        The store decides. Its reply may be lost, so after an error the object is read: it is ours if it has
        our content.
        """
        for _ in range(_CREATE_ATTEMPTS):
            try:
                with translate_store_errors(path):
                    self._create(path, content)
            except OSError as error:
                stored = self._read_when_visible(path, _RETRY_DELAYS if _is_name_taken(error) else ())
                if stored is not None:
                    return stored == content
                if not _is_name_taken(error):
                    raise
            else:
                return True
        # The other writer may have deleted it meanwhile, but not every time.
        raise StorageNotReachable(path=path, reason="it reports that the name is taken but shows no object")

    def _read_when_visible(self, path: str, delays: tuple[float, ...]) -> bytes | None:
        """Return the content once it is visible; some stores refuse a name shortly before they show it."""
        for pause in (*delays, None):
            with suppress(FileNotFoundError):
                return self.read(path)
            if pause is not None:
                time.sleep(pause)
        return None

    def _create(self, path: str, content: bytes) -> None:
        """Put if absent; retry a 409, with which S3 rejects concurrent conditional puts of which none won."""
        _retry(lambda: self._pipe(path, content, mode="create"), _is_write_conflict)

    def _pipe(self, path: str, content: bytes, **options: str) -> None:
        if getattr(self._file_system, "async_impl", False):
            limit = PUT_TIMEOUT + len(content) / _MIN_BYTES_PER_SECOND
            self._file_system.pipe_file(path, content, timeout=limit, **options)
        else:
            self._file_system.pipe_file(path, content, **options)

    def move(self, source: str, target: str) -> None:
        """Copy, then delete; a crash in between leaves both, and the later job state counts."""
        with translate_store_errors(source):
            if self._s3:
                self._s3.copy(source, target)
                self._s3.delete(source)
                return
            self._file_system.cp_file(source, target)
            self._file_system.rm_file(source)

    def entries(self, folder: str) -> list[DirEntry]:
        """List the entries directly below a prefix."""
        with translate_store_errors(folder):
            if self._s3:
                return [_s3_entry(name, item) for name, item in self._s3.children(folder)]
            self._file_system.invalidate_cache()
            items = self._file_system.ls(folder, detail=True)
        # Some stores list the folder itself.
        return [_dir_entry(item) for item in items if str(item["name"]).strip("/") != folder.strip("/")]

    @property
    def supports_start_after(self) -> bool:
        """Whether it is S3, which can start a listing after any key."""
        return self._s3 is not None

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        """List the names below a prefix; on S3 the names before `after` are not read."""
        if not self._s3:
            return [entry.name for entry in self.entries(folder)]
        with translate_store_errors(folder):
            children = self._s3.children(folder, prefix=prefix, after=after, limit=limit)
            return [name for name, _ in children]

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all objects below a prefix by path, in as few requests as the store allows."""
        with translate_store_errors(folder):
            if self._s3:
                return self._s3.sizes(folder)
            self._file_system.invalidate_cache()
            items = self._file_system.find(folder, detail=True)
            return {str(name): int(item.get("size") or 0) for name, item in items.items()}

    def copy(self, source: str, target: str) -> None:
        """Copy inside the store."""
        with translate_store_errors(source):
            self._file_system.cp_file(source, target)

    def delete(self, path: str) -> None:
        """Delete an object, or everything below a prefix, in as few requests as the store allows."""
        for pause in _RETRY_DELAYS:
            if self._s3:
                if self._delete_from_s3(self._s3, path):
                    return
            else:
                with translate_store_errors(path):
                    self._file_system.invalidate_cache()
                    self._file_system.rm(path, recursive=True)
                # The client hides errors for single objects of a bulk delete.
                if not self.exists(path):
                    return
            time.sleep(pause)
        raise StorageNotReachable(path=path, reason="the object still exists after it was deleted")

    def _delete_from_s3(self, requests: S3Requests, path: str) -> bool:
        """Delete an object, and everything below a prefix; return whether nothing is left."""
        with translate_store_errors(path):
            objects = list(requests.sizes(path))
            if not objects:
                requests.delete(path)
                return True
            return not requests.delete_many(objects) and not requests.has_objects_below(path)

    def delete_file(self, path: str) -> None:
        """Delete an object, which need not exist; a prefix is none."""
        if not self._s3:
            self.delete(path)
            return
        with translate_store_errors(path):
            self._s3.delete(path)

    def open_new(self, path: str) -> IO[bytes]:
        """Open a new data object for writing; it exists once it is closed."""
        with translate_store_errors(path):
            stream: IO[bytes] = self._file_system.open(path, "wb")
        return stream


def _is_s3(file_system: Any) -> bool:
    protocol = getattr(file_system, "protocol", ())
    return "s3" in ((protocol,) if isinstance(protocol, str) else protocol)


def _s3_entry(name: str, item: dict[str, Any] | None) -> DirEntry:
    if item is None:
        return DirEntry(name, 0, 0.0, True)  # noqa: FBT003 - a named tuple
    return DirEntry(name, int(item["Size"]), _modified_at(item), False)  # noqa: FBT003 - a named tuple


def _dir_entry(item: dict[str, Any]) -> DirEntry:
    name = str(item["name"]).rstrip("/").rsplit("/", 1)[-1]
    return DirEntry(name, int(item.get("size") or 0), _modified_at(item), item["type"] == "directory")


def _modified_at(item: dict[str, Any]) -> float:
    modified = next((item[key] for key in _MODIFIED_KEYS if item.get(key)), None)
    match modified:
        case datetime():
            return modified.timestamp()
        case int() | float():
            return float(modified)
        case str():
            return _parse_timestamp(modified)
        case _:
            return 0.0


def _parse_timestamp(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


class StoreStream:
    """An open data file whose errors are translated, whenever the client library sends or fetches."""

    def __init__(self, stream: IO[bytes], path: str) -> None:
        self._stream: Any = stream
        self._path = path

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer only at the end."""
        with translate_store_errors(self._path):
            content: bytes = self._stream.read(size)
            return content

    def write(self, content: Any) -> int:
        """Buffer bytes, and send full parts."""
        with translate_store_errors(self._path):
            count: int = self._stream.write(content)
            return count

    def flush(self) -> None:
        """Flush the buffer of the client library."""
        with translate_store_errors(self._path):
            self._stream.flush()

    def close(self) -> None:
        """Send the rest; a new file exists from now on."""
        with translate_store_errors(self._path):
            self._stream.close()

    def __enter__(self) -> StoreStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or not hasattr(self._stream, "discard"):
            self.close()
            return
        # An incomplete file must not appear, or replace a complete one.
        with translate_store_errors(self._path):
            self._stream.discard()
            self._stream.closed = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status in the error of a client library, if any."""
    response = getattr(error.__cause__, "response", None)
    metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    status = metadata.get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def _error_code(error: BaseException) -> str | None:
    """Return the error code of the store, if its client passes it on."""
    response = getattr(error.__cause__, "response", None)
    details = response.get("Error", {}) if isinstance(response, dict) else {}
    return str(details["Code"]) if "Code" in details else None


def _is_name_taken(error: OSError) -> bool:
    """Return whether the store refused a name that is taken."""
    return isinstance(error, FileExistsError) or _http_status(error) == _PRECONDITION_FAILED


def _permanent_failure_reason(error: Exception, path: str) -> str | None:
    """Return the reason of an error that a retry would get again, such as a missing bucket; else None."""
    code, kind = _error_code(error), type(error).__name__
    # A denial by the local disk needs no translation.
    is_denied = isinstance(error, PermissionError) and not path.startswith("/")
    return (
        f"{code or kind}: {error}"
        if code in _PERMANENT_CODES or kind in _CREDENTIAL_ERRORS or is_denied
        else None
    )


def _is_write_conflict(error: Exception) -> bool:
    """Return whether concurrent conditional puts conflicted, so that none has won."""
    return "ConditionalRequestConflict" in str(error)


def _is_checksum_mismatch(error: Exception) -> bool:
    """Return whether a reply does not match its checksum; s3fs does not retry these."""
    return type(error).__name__ == "FlexibleChecksumError"


def _transient_failure_reason(error: Exception) -> str | None:
    """Return the reason of a transient error, such as a busy or unreachable store; else None."""
    if isinstance(error, NotImplementedError | TypeError | ValueError):
        return None
    # Error types of the client library itself are about the connection.
    is_connection_error = not isinstance(error, OSError) or isinstance(error, TimeoutError | ConnectionError)
    if not (
        is_connection_error
        or _error_code(error) in _TRANSIENT_CODES
        or _is_transient_status(_http_status(error))
    ):
        return None
    return f"{_error_code(error) or type(error).__name__}: {error.__cause__ or error}"


def _is_transient_status(status: int | None) -> bool:
    return (
        status is not None
        and status != _NOT_IMPLEMENTED
        and (status >= _FIRST_SERVER_ERROR or status in _TRANSIENT_STATUSES)
    )
