"""Streaming listing of files on a disk, on S3 and on other file systems of fsspec."""

from __future__ import annotations

import os
import stat
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import FileNotReadable, UsageError
from penstock.package.object_files import translate_store_errors
from penstock.sources.filesystem.items import ListedFile
from penstock.sources.filesystem.plan import EMPTY_NAME_REASON
from penstock.spark.s3 import s3_bucket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.sources.filesystem.day_window import DayWindow
    from penstock.sources.filesystem.globs import Glob
    from penstock.sources.filesystem.location import FolderLocation

ListingEntry = tuple[str, ListedFile | None]
"""The path of an entry in a folder, and its file; None for a folder."""
_TIME_KEYS: Final = ("LastModified", "last_modified", "mtime", "updated", "created")


def list_files(location: FolderLocation, glob: Glob, window: DayWindow | None = None) -> Iterator[ListedFile]:
    """Yield the files that match a glob, in no order; skip folders that cannot match or are too old."""
    start = glob.fixed_prefix
    if s3_bucket(location.root) and hasattr(location.file_system, "call_s3"):
        # Without a window, one paged listing of the prefix is cheaper than one listing per folder.
        if window is None and glob.is_recursive:
            yield from (file for file in _list_s3_recursive(location, start) if glob.matches(file.path))
            return
        entries: Callable[[str], Iterator[ListingEntry]] = partial(_list_s3_folder, location)
    elif location.is_local:
        entries = partial(_list_local, location)
    else:
        entries = partial(_list_fsspec, location)
    _check_root(location)
    pending_folders = [start]
    while pending_folders:
        folder = pending_folders.pop()
        for path, file in entries(folder):
            if file is not None:
                if glob.matches(path):
                    yield file
            elif not path or path.endswith("/"):
                _check_empty_name(location, path, glob)
            elif glob.can_match_below(path) and (window is None or window.includes(path)):
                pending_folders.append(path)


def _check_root(location: FolderLocation) -> None:
    """Raise if the folder does not exist. S3 has no folders, so a bucket is not checked."""
    if s3_bucket(location.root):
        return
    with translate_store_errors(location.root):
        exists = (
            Path(location.fs_root or "/").is_dir()
            if location.is_local
            else location.file_system.isdir(location.fs_root)
        )
    if not exists:
        raise UsageError(
            f"the folder {location.root} does not exist", hint="check bucket_url, or create the folder"
        )


def _check_empty_name(location: FolderLocation, path: str, glob: Glob) -> None:
    """Raise for a folder with an empty name, which `**` matches and Hadoop cannot open."""
    if glob.is_recursive:
        raise FileNotReadable(path=f"{location.root}/{path}/", reason=EMPTY_NAME_REASON)


def _list_local(location: FolderLocation, folder: str) -> Iterator[ListingEntry]:
    """List a local folder. Links to files are followed, links to folders are not: they may form a loop."""
    try:
        listing = os.scandir(location.fs_path(folder) if folder else location.fs_root or "/")
    except FileNotFoundError:
        return
    with listing:
        for item in listing:
            path = f"{folder}/{item.name}" if folder else item.name
            if item.is_dir(follow_symlinks=False):
                yield path, None
                continue
            try:
                status = item.stat()
            except FileNotFoundError:  # deleted since the listing began, or a broken link
                continue
            if stat.S_ISREG(status.st_mode):
                yield path, ListedFile(path, status.st_size, status.st_mtime_ns)


def _list_s3_folder(location: FolderLocation, folder: str) -> Iterator[ListingEntry]:
    for page in _s3_pages(location, folder, Delimiter="/"):
        for item in page.get("CommonPrefixes", ()):
            yield _relative_key(location, item["Prefix"].removesuffix("/")), None
        for item in page.get("Contents", ()):
            file = _s3_file(location, item)
            if file is not None:
                yield file.path, file


def _list_s3_recursive(location: FolderLocation, folder: str) -> Iterator[ListedFile]:
    for page in _s3_pages(location, folder):
        yield from (file for item in page.get("Contents", ()) if (file := _s3_file(location, item)))


def _s3_pages(location: FolderLocation, folder: str, **arguments: str) -> Iterator[dict[str, Any]]:
    """Yield the pages of an S3 listing, up to a thousand keys each; s3fs would hold the whole folder."""
    bucket, _, prefix = location.fs_root.partition("/")
    key = "/".join(part for part in (prefix, folder) if part)
    request: dict[str, Any] = {"Bucket": bucket, "Prefix": f"{key}/" if key else "", **arguments}
    while True:
        with translate_store_errors(location.root):
            page: dict[str, Any] = location.file_system.call_s3("list_objects_v2", **request)
        yield page
        if not page.get("IsTruncated"):
            return
        request["ContinuationToken"] = page["NextContinuationToken"]


def _s3_file(location: FolderLocation, item: dict[str, Any]) -> ListedFile | None:
    key = str(item["Key"])
    if key.endswith("/"):  # the marker object of a folder
        return None
    return ListedFile(_relative_key(location, key), int(item["Size"]), _modified_ns(item))


def _relative_key(location: FolderLocation, key: str) -> str:
    prefix = location.fs_root.partition("/")[2]
    return key[len(prefix) + 1 :] if prefix else key


def _list_fsspec(location: FolderLocation, folder: str) -> Iterator[ListingEntry]:
    """List a folder of any file system of fsspec."""
    folder_path = location.fs_path(folder) if folder else location.fs_root
    try:
        with translate_store_errors(folder_path):
            location.file_system.invalidate_cache()
            items = location.file_system.ls(folder_path, detail=True)
    except FileNotFoundError:
        return
    for item in items:
        full_path = str(item["name"]).rstrip("/")
        path = full_path[len(location.fs_root) :].lstrip("/")
        if full_path.strip("/") == folder_path.strip("/"):
            continue
        if item["type"] == "directory":
            yield path, None
        else:
            yield path, ListedFile(path, int(item.get("size") or 0), _modified_ns(item))


def _modified_ns(item: dict[str, Any]) -> int:
    modified = next((item[key] for key in _TIME_KEYS if item.get(key)), None)
    match modified:
        case datetime():
            return int(modified.timestamp()) * 1_000_000_000 + modified.microsecond * 1_000
        case int() | float():
            return int(modified * 1_000_000_000)
        case _:
            return 0
