"""Lists the files of a place, one after the other: a folder is never held as a whole, on a disk or on S3."""

from __future__ import annotations

import os
import stat
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import FileNotReadable, UsageError
from penstock.package.objects import answering
from penstock.sources.filesystem.items import Found
from penstock.sources.filesystem.plan import NAMELESS
from penstock.spark.s3 import bucket_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.sources.filesystem.globs import Glob
    from penstock.sources.filesystem.place import Place
    from penstock.sources.filesystem.windows import Window

Entry = tuple[str, Found | None]
"""The name of what stands in a folder, and the file that it is; None for a folder."""
_TIMES: Final = ("LastModified", "last_modified", "mtime", "updated", "created")


def list_files(place: Place, glob: Glob, window: Window | None = None) -> Iterator[Found]:
    """The files that a glob means, in no order. Folders without any, or too old ones, are not opened."""
    start = glob.start
    if bucket_of(place.root) and hasattr(place.system, "call_s3"):
        # Without a window all keys below a prefix come in pages, whatever folders they seem to stand in.
        if window is None and glob.is_deep:
            yield from (one for one in _all_keys(place, start) if glob.matches(one.path))
            return
        entries: Callable[[str], Iterator[Entry]] = partial(_keys, place)
    elif place.is_local:
        entries = partial(_on_disk, place)
    else:
        entries = partial(_elsewhere, place)
    _check_root(place)
    todo = [start]
    while todo:
        folder = todo.pop()
        for path, found in entries(folder):
            if found is not None:
                if glob.matches(path):
                    yield found
            elif not path or path.endswith("/"):
                _check_nameless(place, path, glob)
            elif glob.leads(path) and (window is None or window.takes(path)):
                todo.append(path)


def _check_root(place: Place) -> None:
    """A folder that is not there is a slip in its name. A store of keys has no folders, only buckets."""
    if bucket_of(place.root):
        return
    with answering(place.root):
        is_there = Path(place.base or "/").is_dir() if place.is_local else place.system.isdir(place.base)
    if not is_there:
        raise UsageError(f"there is no folder {place.root}", hint="see bucket_url, or make the folder")


def _check_nameless(place: Place, path: str, glob: Glob) -> None:
    """`*` stands for a name; `**` may stand for none, and would mean what Hadoop cannot open."""
    if glob.is_deep:
        raise FileNotReadable(path=f"{place.root}/{path}/", reason=NAMELESS)


def _on_disk(place: Place, folder: str) -> Iterator[Entry]:
    """Links to files are followed, links to folders are not: they may lead back."""
    try:
        listing = os.scandir(place.address(folder) if folder else place.base or "/")
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
                yield path, Found(path, facts.st_size, facts.st_mtime_ns)


def _keys(place: Place, folder: str) -> Iterator[Entry]:
    for page in _pages(place, folder, Delimiter="/"):
        for one in page.get("CommonPrefixes", ()):
            yield _relative(place, one["Prefix"].removesuffix("/")), None
        for one in page.get("Contents", ()):
            found = _found(place, one)
            if found is not None:
                yield found.path, found


def _all_keys(place: Place, folder: str) -> Iterator[Found]:
    for page in _pages(place, folder):
        yield from (found for one in page.get("Contents", ()) if (found := _found(place, one)))


def _pages(place: Place, folder: str, **how: str) -> Iterator[dict[str, Any]]:
    """A thousand keys at a time, as S3 gives them; s3fs itself gives a folder as a whole."""
    bucket, _, prefix = place.base.partition("/")
    below = "/".join(part for part in (prefix, folder) if part)
    asked: dict[str, Any] = {"Bucket": bucket, "Prefix": f"{below}/" if below else "", **how}
    while True:
        with answering(place.root):
            page: dict[str, Any] = place.system.call_s3("list_objects_v2", **asked)
        yield page
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


def _found(place: Place, item: dict[str, Any]) -> Found | None:
    key = str(item["Key"])
    if key.endswith("/"):  # an object that stands for a folder
        return None
    return Found(_relative(place, key), int(item["Size"]), _nanoseconds(item))


def _relative(place: Place, key: str) -> str:
    prefix = place.base.partition("/")[2]
    return key[len(prefix) + 1 :] if prefix else key


def _elsewhere(place: Place, folder: str) -> Iterator[Entry]:
    """Whatever fsspec opens."""
    address = place.address(folder) if folder else place.base
    try:
        with answering(address):
            place.system.invalidate_cache()
            items = place.system.ls(address, detail=True)
    except FileNotFoundError:
        return
    for item in items:
        full = str(item["name"]).rstrip("/")
        path = full[len(place.base) :].lstrip("/")
        if full.strip("/") == address.strip("/"):
            continue
        if item["type"] == "directory":
            yield path, None
        else:
            yield path, Found(path, int(item.get("size") or 0), _nanoseconds(item))


def _nanoseconds(item: dict[str, Any]) -> int:
    found = next((item[key] for key in _TIMES if item.get(key)), None)
    match found:
        case datetime():
            return int(found.timestamp()) * 1_000_000_000 + found.microsecond * 1_000
        case int() | float():
            return int(found * 1_000_000_000)
        case _:
            return 0
