"""The figures of a plan beside what its load did, as far as rows and reports show it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.load.report import LoadInfo
    from penstock.pipeline.plan import LoadPlan, PlannedTable

Rows = dict[str, list[dict[str, Any]]]
History = dict[str, Any]


def resource_of(item: History, number: int) -> Any:
    """Return the resource of one load of a history."""
    load = item["loads"][number]
    return penstock.resource(
        load["rows"],
        name=item["name"],
        write_disposition=load["write_disposition"],
        primary_key=item["primary_key"] or None,
        merge_key=item["merge_key"] or None,
        columns=item["columns"],
    )


def differences(
    plan: LoadPlan, info: LoadInfo, before: Rows, after: Rows, current: Sequence[History], number: int
) -> Iterator[str]:
    """Yield the tables whose change by one load of histories is not that of the plan."""
    keys = {
        item["name"]: item["primary_key"]
        for item in current
        if item["loads"][number]["write_disposition"] not in ("append", "replace")
    }
    (package,) = plan.packages
    written = {table.table: table.rows or 0 for table in info.packages[0].tables}
    planned = {table.table: table for table in package.tables}
    names = {name for name in (*after, *planned) if not name.startswith("_dlt_")}
    for name in sorted(names):
        table, old, new = planned.get(name), before.get(name, []), after.get(name, [])
        if table is None:
            if _as_texts(old) != _as_texts(new):
                yield f"{name} is not in the plan and has changed"
            continue
        expected = _observed(old, new, written.get(name, 0), package.load_id, keys.get(name, []))
        figures = (table.inserted, table.updated, table.deleted, table.ended)
        if figures != expected:
            yield f"{name}: planned {figures}, was {expected}"
        if not _touches_files(table):
            yield f"{name}: {table}"


def _observed(
    old: list[dict[str, Any]], new: list[dict[str, Any]], written: int, load_id: str, keys: list[str]
) -> tuple[int, int, int, int]:
    """Return the inserted, updated, deleted and ended rows of a load."""
    ended, grown = _closed(new) - _closed(old), len(new) - len(old)
    if ended:
        # Reports of lakes count versions that end as written, those of databases do not.
        return grown, 0, 0, ended
    old_keys = {_key(row, keys) for row in old}
    own = [row for row in new if row.get("_dlt_load_id") == load_id]
    updated = sum(_key(row, keys) in old_keys for row in own) if keys else 0
    return written - updated, updated, written - updated - grown, 0


def _closed(rows: list[dict[str, Any]]) -> int:
    return sum(row.get("_dlt_valid_to") is not None for row in rows)


def _key(row: dict[str, Any], keys: list[str]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in keys)


def _as_texts(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


def _touches_files(table: PlannedTable) -> bool:
    """Return whether a table has old files in the plan exactly if some of its rows change."""
    changes = (table.updated or 0) + (table.deleted or 0) + (table.ended or 0)
    return table.files is None or bool(table.files) == bool(changes)
