"""Requests to S3, as few as the protocol needs: the client of fsspec looks up objects before most of them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE_SIZE: Final = 1000


class S3Requests:
    """The requests of one client. A missing object is a `FileNotFoundError`.

    Only files that a single request can copy or return at once: control files and small data files.
    """

    def __init__(self, file_system: Any) -> None:
        self._file_system = file_system
        read = getattr(type(file_system), "_cat_file", None)
        has_option = read is not None and "max_concurrency" in inspect.signature(read).parameters
        # Otherwise the client asks for the size first, to read large objects in parts.
        self._whole = {"max_concurrency": 1} if has_option else {}

    def read(self, path: str) -> bytes:
        """Return the whole content."""
        content: bytes = self._file_system.cat_file(path, **self._whole)
        return content

    def has_object(self, path: str) -> bool:
        """Return whether an object exists."""
        try:
            self._call("head_object", path)
        except FileNotFoundError:
            return False
        return True

    def has_objects_below(self, path: str) -> bool:
        """Return whether any object exists below a prefix."""
        page = next(self._pages(path, {"MaxKeys": 1}))
        return bool(page.get("Contents"))

    def copy(self, source: str, target: str) -> None:
        """Copy an object."""
        bucket, key, _ = self._file_system.split_path(source)
        self._call("copy_object", target, CopySource={"Bucket": bucket, "Key": key})

    def delete(self, path: str) -> None:
        """Delete an object, which need not exist."""
        self._call("delete_object", path)

    def delete_many(self, paths: Sequence[str]) -> int:
        """Delete objects of one bucket; return the number of those that the store refused to delete."""
        refused = 0
        for start in range(0, len(paths), PAGE_SIZE):
            keys = [
                {"Key": self._file_system.split_path(path)[1]} for path in paths[start : start + PAGE_SIZE]
            ]
            bucket = self._file_system.split_path(paths[start])[0]
            reply = self._file_system.call_s3(
                "delete_objects", Bucket=bucket, Delete={"Objects": keys, "Quiet": True}
            )
            refused += len(reply.get("Errors", ()))
        self._file_system.invalidate_cache()
        return refused

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of all objects below a prefix by path."""
        bucket = self._file_system.split_path(folder)[0]
        return {
            f"{bucket}/{item['Key']}": int(item["Size"])
            for page in self._pages(folder, {})
            for item in page.get("Contents", ())
            if not item["Key"].endswith("/")  # some stores list folders
        }

    def children(
        self, folder: str, *, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Yield the names directly below a prefix with the description of the object, None for a folder.

        Only names that begin with `prefix` and sort after `after`; no pages beyond the first `limit` names.
        """
        root = self._prefix(folder)
        request: dict[str, Any] = {"Delimiter": "/", "Prefix": f"{root}{prefix}"}
        request |= {"StartAfter": f"{root}{after}"} if after else {}
        count = 0
        for page in self._pages(folder, request, limit=limit):
            items = {item["Key"]: item for item in page.get("Contents", ()) if item["Key"] != root}
            folders = [item["Prefix"] for item in page.get("CommonPrefixes", ())]
            yield from ((key.removeprefix(root), item) for key, item in items.items())
            yield from ((key.removeprefix(root).rstrip("/"), None) for key in folders)
            count += len(items) + len(folders)
            if limit is not None and count >= limit:
                return

    def _pages(
        self, folder: str, request: dict[str, Any], *, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        bucket = self._file_system.split_path(folder)[0]
        size = PAGE_SIZE if limit is None else min(PAGE_SIZE, limit)
        asked = {"Bucket": bucket, "Prefix": self._prefix(folder), "MaxKeys": size, **request}
        while True:
            page: dict[str, Any] = self._file_system.call_s3("list_objects_v2", **asked)
            yield page
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def _prefix(self, folder: str) -> str:
        key = self._file_system.split_path(folder)[1]
        return f"{key}/" if key else ""

    def _call(self, method: str, path: str, **request: Any) -> None:
        bucket, key, _ = self._file_system.split_path(path)
        self._file_system.call_s3(method, Bucket=bucket, Key=key, **request)
        # Its listings are not used here, but other calls of the client do.
        self._file_system.invalidate_cache()
