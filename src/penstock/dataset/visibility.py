"""Which version of a table a reader sees: the newest that holds nothing of a load which is not complete.

No Spark here: the commits of a table and the names of the complete loads decide.
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
    """A table as readers find it."""

    newest: int
    """The version of its newest commit, whoever made that."""
    version: int | None
    """What readers see; None as long as no complete load is in it."""

    @property
    def is_held_back(self) -> bool:
        """Whether readers see an older version than the newest."""
        return self.version != self.newest


def visible_version(
    commits: Sequence[TableCommit], complete_load_ids: Container[str], *, is_complete_history: bool
) -> VisibleVersion | None:
    """Where a table stands, by its commits, newest first; None where they do not reach far enough back.

    Loads of one pipeline come one after another: once one of them is complete, those before it are settled,
    complete or given up. A load that was taken back is settled too. Commits that no load made count as they
    are. What comes after the first commit of an open load is held back with it, unless a complete load has
    replaced that: then it is in no version since.
    """
    newest = commits[0].version
    settled: set[str | None] = set()
    undone: set[str] = set()
    is_open: set[str | None] = set()
    first: int | None = None
    for place, commit in enumerate(commits):
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
            is_open.add(commit.pipeline_name)
            first = place
    if not is_complete_history and not (settled and is_open <= settled):
        return None
    if first is None:
        return VisibleVersion(newest=newest, version=newest)
    before = commits[first + 1 :]
    return VisibleVersion(newest=newest, version=before[0].version if before else None)


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
    """A row in the order of the columns; what the writer did not know is null."""
    return tuple(_value(document.get(name), kind) for name, kind in _COLUMNS[table].items())


def visible_rows(
    table: str,
    rows: Iterable[Mapping[str, Any]],
    loads: Iterable[Mapping[str, Any]],
    load_ids: Collection[str],
) -> list[Mapping[str, Any]]:
    """The rows that belong to these loads; states and schemas are stored before their load is complete."""
    if table == VERSION_TABLE:
        counted = {load.get("schema_version_hash") for load in loads if load.get("load_id") in load_ids}
        return [row for row in rows if row.get("version_hash") in counted]
    column = "load_id" if table == LOADS_TABLE else "_dlt_load_id"
    return [row for row in rows if row.get(column) in load_ids]


def _value(value: Any, kind: str) -> Any:
    if isinstance(value, str) and kind == "timestamp":
        return datetime.fromisoformat(value)
    return as_json(value).decode() if isinstance(value, (dict, list)) else value
