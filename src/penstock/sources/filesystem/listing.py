"""Lists the files of a place, one after the other: a folder is never held as a whole, on a disk or on S3."""

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
"""The name of what stands in a folder, and the file that it is; None for a folder."""
_TIME_KEYS: Final = ("LastModified", "last_modified", "mtime", "updated", "created")


def list_files(location: FolderLocation, glob: Glob, window: DayWindow | None = None) -> Iterator[ListedFile]:
    """The files that a glob means, in no order. Folders without any, or too old ones, are not opened."""
    start = glob.fixed_prefix
    if s3_bucket(location.root) and hasattr(location.file_system, "call_s3"):
        # Without a window all keys below a prefix come in pages, whatever folders they seem to stand in.
        if window is None and glob.is_recursive:
            yield from (one for one in _list_s3_recursive(location, start) if glob.matches(one.path))
            return
        entries: Callable[[str], Iterator[ListingEntry]] = partial(_list_s3_folder, location)
    elif location.is_local:
        entries = partial(_list_local, location)
    else:
        entries = partial(_list_fsspec, location)
    _check_root(location)
    todo = [start]
    while todo:
        folder = todo.pop()
        for path, found in entries(folder):
            if found is not None:
                if glob.matches(path):
                    yield found
            elif not path or path.endswith("/"):
                _check_empty_name(location, path, glob)
            elif glob.can_match_below(path) and (window is None or window.includes(path)):
                todo.append(path)


def _check_root(location: FolderLocation) -> None:
    """A folder that is not there is a slip in its name. A store of keys has no folders, only buckets."""
    if s3_bucket(location.root):
        return
    with translate_store_errors(location.root):
        is_there = (
            Path(location.fs_root or "/").is_dir()
            if location.is_local
            else location.file_system.isdir(location.fs_root)
        )
    if not is_there:
        raise UsageError(f"there is no folder {location.root}", hint="see bucket_url, or make the folder")


def _check_empty_name(location: FolderLocation, path: str, glob: Glob) -> None:
    """`*` stands for a name; `**` may stand for none, and would mean what Hadoop cannot open."""
    if glob.is_recursive:
        raise FileNotReadable(path=f"{location.root}/{path}/", reason=EMPTY_NAME_REASON)


def _list_local(location: FolderLocation, folder: str) -> Iterator[ListingEntry]:
    """Links to files are followed, links to folders are not: they may lead back."""
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
                facts = item.stat()
            except FileNotFoundError:  # deleted since the listing began, or a link to nowhere
                continue
            if stat.S_ISREG(facts.st_mode):
                yield path, ListedFile(path, facts.st_size, facts.st_mtime_ns)


def _list_s3_folder(location: FolderLocation, folder: str) -> Iterator[ListingEntry]:
    for page in _s3_pages(location, folder, Delimiter="/"):
        for one in page.get("CommonPrefixes", ()):
            yield _relative_key(location, one["Prefix"].removesuffix("/")), None
        for one in page.get("Contents", ()):
            found = _s3_file(location, one)
            if found is not None:
                yield found.path, found


def _list_s3_recursive(location: FolderLocation, folder: str) -> Iterator[ListedFile]:
    for page in _s3_pages(location, folder):
        yield from (found for one in page.get("Contents", ()) if (found := _s3_file(location, one)))


def _s3_pages(location: FolderLocation, folder: str, **arguments: str) -> Iterator[dict[str, Any]]:
    """A thousand keys at a time, as S3 gives them; s3fs itself gives a folder as a whole."""
    bucket, _, prefix = location.fs_root.partition("/")
    below = "/".join(part for part in (prefix, folder) if part)
    asked: dict[str, Any] = {"Bucket": bucket, "Prefix": f"{below}/" if below else "", **arguments}
    while True:
        with translate_store_errors(location.root):
            page: dict[str, Any] = location.file_system.call_s3("list_objects_v2", **asked)
        yield page
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


def _s3_file(location: FolderLocation, item: dict[str, Any]) -> ListedFile | None:
    key = str(item["Key"])
    if key.endswith("/"):  # an object that stands for a folder
        return None
    return ListedFile(_relative_key(location, key), int(item["Size"]), _modified_ns(item))


def _relative_key(location: FolderLocation, key: str) -> str:
    prefix = location.fs_root.partition("/")[2]
    return key[len(prefix) + 1 :] if prefix else key


def _list_fsspec(location: FolderLocation, folder: str) -> Iterator[ListingEntry]:
    """Whatever fsspec opens."""
    address = location.fs_path(folder) if folder else location.fs_root
    try:
        with translate_store_errors(address):
            location.file_system.invalidate_cache()
            items = location.file_system.ls(address, detail=True)
    except FileNotFoundError:
        return
    for item in items:
        full = str(item["name"]).rstrip("/")
        path = full[len(location.fs_root) :].lstrip("/")
        if full.strip("/") == address.strip("/"):
            continue
        if item["type"] == "directory":
            yield path, None
        else:
            yield path, ListedFile(path, int(item.get("size") or 0), _modified_ns(item))


def _modified_ns(item: dict[str, Any]) -> int:
    found = next((item[key] for key in _TIME_KEYS if item.get(key)), None)
    match found:
        case datetime():
            return int(found.timestamp()) * 1_000_000_000 + found.microsecond * 1_000
        case int() | float():
            return int(found * 1_000_000_000)
        case _:
            return 0
