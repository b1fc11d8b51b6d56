"""Visibility: the versions of tables, and the rows of system tables, that belong to complete loads.

No Spark here: the commits of a table and the ids of complete loads decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from penstock.package.file_ledger import LOADS_TABLE, STATE_TABLE, VERSION_TABLE
from penstock.package.storage import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from penstock.interfaces import TableCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleVersion:
    """The version of a table that readers see."""

    newest: int
    """The version of its newest commit, by any writer."""
    version: int | None
    """The visible version; None before the first complete load."""

    @property
    def is_held_back(self) -> bool:
        """Whether readers see an older version than the newest."""
        return self.version != self.newest


def visible_version(
    commits: Sequence[TableCommit], complete_load_ids: Container[str], *, is_complete_history: bool
) -> VisibleVersion | None:
    """Return the visible version of a table by its commits, newest first; None if they do not suffice.

    Loads of one pipeline are sequential: if one of them is complete, those before it are complete or aborted.
    An undone load is settled too. Commits of other writers are always visible. All commits from the first one
    of an open load on are held back, unless a complete load has replaced its rows since.
    """
    newest = commits[0].version
    settled: set[str | None] = set()
    undone: set[str] = set()
    open_pipelines: set[str | None] = set()
    first_open: int | None = None
    for index, commit in enumerate(commits):
        if commit.undoes is not None:
            undone.add(commit.undoes)
        if commit.load_id is None or commit.load_id in undone or commit.pipeline_name in settled:
            continue
        if commit.load_id in complete_load_ids:
            settled.add(commit.pipeline_name)
            if commit.replaces:
                is_complete_history = True
                break
        else:
            open_pipelines.add(commit.pipeline_name)
            first_open = index
    if not is_complete_history and not (settled and open_pipelines <= settled):
        return None
    if first_open is None:
        return VisibleVersion(newest=newest, version=newest)
    visible = commits[first_open + 1 :]
    return VisibleVersion(newest=newest, version=visible[0].version if visible else None)


_COLUMNS: dict[str, dict[str, str]] = {
    LOADS_TABLE: {
        "load_id": "string",
        "schema_name": "string",
        "status": "bigint",
        "inserted_at": "timestamp",
        "schema_version_hash": "string",
        "pipeline_name": "string",
        "sequence": "bigint",
        "manifest_hash": "string",
        "tables": "string",
        "undoes": "string",
    },
    VERSION_TABLE: {
        "version": "bigint",
        "engine_version": "bigint",
        "inserted_at": "timestamp",
        "schema_name": "string",
        "version_hash": "string",
        "schema": "string",
    },
    STATE_TABLE: {
        "version": "bigint",
        "engine_version": "bigint",
        "pipeline_name": "string",
        "state": "string",
        "created_at": "timestamp",
        "version_hash": "string",
        "_dlt_load_id": "string",
    },
}

SYSTEM_SCHEMAS = {
    table: ", ".join(f"{name} {kind}" for name, kind in columns.items())
    for table, columns in _COLUMNS.items()
}


def system_row(table: str, document: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a row in the order of the columns; a missing value is null."""
    return tuple(_value(document.get(name), sql_type) for name, sql_type in _COLUMNS[table].items())


def visible_rows(
    table: str,
    rows: Iterable[Mapping[str, Any]],
    loads: Iterable[Mapping[str, Any]],
    load_ids: Collection[str],
) -> list[Mapping[str, Any]]:
    """Return the rows that belong to these loads; states and schemas are stored before the load completes."""
    if table == VERSION_TABLE:
        hashes = {load.get("schema_version_hash") for load in loads if load.get("load_id") in load_ids}
        return [row for row in rows if row.get("version_hash") in hashes]
    column = "load_id" if table == LOADS_TABLE else "_dlt_load_id"
    return [row for row in rows if row.get(column) in load_ids]


def _value(value: Any, sql_type: str) -> Any:
    if isinstance(value, str) and sql_type == "timestamp":
        return datetime.fromisoformat(value)
    return as_json(value).decode() if isinstance(value, (dict, list)) else value
