"""The entries of a table's log that replace, truncate, undo and restore its files, and what prevents them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from penstock.destinations.filesystem.table_log import LogEntry
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from penstock.destinations.filesystem.table_files import TableFiles


def replace_entry(table_files: TableFiles, entry: LogEntry, last_version: int) -> LogEntry:
    """Return an entry whose files replace all existing ones, also those of other writers."""
    foreign = table_files.foreign_files()
    existing = {**table_files.log.live_files(last_version), **foreign}
    removed = tuple(key for key in existing if key not in entry.files)
    return dataclasses.replace(entry, adopted=foreign, removed=removed)


def truncate_entry(table_files: TableFiles, last_version: int) -> LogEntry | None:
    """Return an entry without files; None if the table has none, or does not exist."""
    entry = replace_entry(table_files, LogEntry(kind="replace"), last_version)
    return entry if entry.removed else None


def undo_entry(table_files: TableFiles, load_id: str, last_version: int) -> LogEntry | None:
    """Return an entry that undoes a load, or fences one without a commit; None if it is undone."""
    if table_files.log.is_undone(load_id):
        return None
    entry = table_files.log.find_load(load_id)
    files = table_files.log.live_files(last_version)
    if entry is not None and entry.kind == "append":
        files = {key: codec for key, codec in files.items() if key not in entry.files}
    elif entry is not None:
        check_newest(table_files, entry)
        files = {**table_files.log.live_files(entry.version - 1), **entry.adopted}
    return LogEntry(kind="undo", undoes=load_id, checkpoint=files)


def check_newest(table_files: TableFiles, entry: LogEntry) -> None:
    """Raise if an entry cannot be undone: only an append can if it is not the newest commit."""
    if entry.kind != "append" and table_files.log.last_version() != entry.version:
        raise DestinationTerminalException(
            f"table {table_files.table} was written to after the load that replaced it",
            hint="load the replaced rows again; their files exist until the next load",
            table=table_files.table,
        )


def restore_obstacle(table_files: TableFiles, version: int | None, newest: int) -> str | None:
    """Return why a version of a table cannot be restored."""
    log = table_files.log
    if version is None:
        has_older_files = newest and table_files.has_foreign_origin()
        return f"{log.table} has files from before its first commit" if has_older_files else None
    if version > newest or (version and log.find_version(version) is None):
        return f"commit {version} of {log.table} was deleted from its log"
    names = frozenset(table_files.store.tree(table_files.folder))
    missing = [key for key in table_files.logged_files(version, newest) if key not in names]
    if missing:
        return (
            f"{len(missing)} files of {log.table} were deleted since, {min(missing)} among them: "
            "a load that replaces rows deletes the replaced files"
        )
    return None
