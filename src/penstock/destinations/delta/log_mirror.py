"""The newest part of a Delta log, copied from an object store into a folder of this machine. No Spark here.

`deltalake` reads each file of a log several times, and lists the log before and after each commit. On a disk
that costs little, and in an object store it is most of the time of a small load. So it reads the copy, and
writes its commit there; the commit counts once its file is put into the store, if that name is free.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.destinations.delta.log_commits import COMMIT_NAME, LOG_FOLDER, commit_name

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from penstock.package.storage import FileStorage

_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint\.parquet")
_OTHER_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint\..+")
_LAST_CHECKPOINT: Final = "_last_checkpoint"
_PAGE_SIZE: Final = 1000
# Spark and penstock write a checkpoint after every tenth commit; a longer rest is read by deltalake itself.
_MAX_FILES: Final = 64
_READERS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMirror:
    """The copy of a log, in which commits are prepared."""

    store: FileStorage
    table: str
    folder: Path

    def commit_content(self, version: int) -> bytes:
        """Return the commit that was prepared, with the address of the table in place of the copy's."""
        info, newline, actions = self._file(commit_name(version)).read_bytes().partition(b"\n")
        document = json.loads(info)
        parameters = document.get("commitInfo", {}).get("operationParameters") or {}
        if "location" not in parameters:
            return info + newline + actions
        parameters["location"] = self.store.path(self.table)
        return json.dumps(document, separators=(",", ":")).encode() + newline + actions

    def has_commit(self, version: int) -> bool:
        """Return whether a commit was copied."""
        return self._file(commit_name(version)).exists()

    def read_commit(self, version: int) -> bytes:
        """Return a commit that was copied."""
        return self._file(commit_name(version)).read_bytes()

    def put_checkpoint(self, version: int) -> None:
        """Put a checkpoint of the copy into the store, then the file that names it."""
        for name in (f"{version:020}.checkpoint.parquet", _LAST_CHECKPOINT):
            self.store.put(f"{self.table}/{LOG_FOLDER}/{name}", self._file(name).read_bytes())

    def _file(self, name: str) -> Path:
        return self.folder / LOG_FOLDER / name


def copy_log(store: FileStorage, table: str, folder: Path) -> LogMirror | None:
    """Copy the newest checkpoint of a log and the commits after it; None if `deltalake` should read it."""
    names = files_to_copy(_newest_names(store, table))
    if names is None:
        return None
    target = folder / LOG_FOLDER
    target.mkdir(parents=True)

    def copy(name: str) -> bool:
        content = store.read(f"{table}/{LOG_FOLDER}/{name}")
        if content is not None:
            (target / name).write_bytes(content)
        return content is not None

    if names:
        with ThreadPoolExecutor(min(_READERS, len(names)), thread_name_prefix="penstock-log") as threads:
            # Another writer may delete old files of the log.
            if not all(threads.map(copy, names)):
                return None
    return LogMirror(store=store, table=table, folder=folder)


def files_to_copy(names: Collection[str]) -> list[str] | None:
    """Return the files of a log that its newest version needs; None for a log of an unusual form.

    >>> files_to_copy([f"{version:020}.json" for version in (0, 1)])
    ['00000000000000000000.json', '00000000000000000001.json']
    >>> files_to_copy(["00000000000000000000.checkpoint.1.parquet"]) is None
    True
    """
    commits = {int(match[1]): match[0] for match in map(COMMIT_NAME.fullmatch, names) if match}
    checkpoints = {int(match[1]): match[0] for match in map(_CHECKPOINT.fullmatch, names) if match}
    others = [int(match[1]) for match in map(_OTHER_CHECKPOINT.fullmatch, names) if match]
    newest = max(checkpoints, default=-1)
    if any(version > newest for version in others):
        return None
    needed = [checkpoints[newest]] if checkpoints else []
    needed += [commits[version] for version in sorted(commits) if version >= newest]
    return needed if len(needed) <= _MAX_FILES else None


def _newest_names(store: FileStorage, table: str) -> list[str]:
    """Return the names of the files of a log; of a long one only those since the last checkpoint."""
    folder = f"{table}/{LOG_FOLDER}"
    names = store.names(folder, limit=_PAGE_SIZE)
    if len(names) < _PAGE_SIZE:
        return names
    last = store.read_json(f"{folder}/{_LAST_CHECKPOINT}") or {}
    return store.names(folder, after=f"{last['version']:020}" if "version" in last else "")
