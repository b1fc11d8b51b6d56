"""Comparison of the datasets that the two tools made of one program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from tests.oracle.reference_rows import comparable
from tests.oracle.scenario_runner import without_empty

from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Content:
    """The content of a dataset after a run of a program."""

    types: Mapping[str, Mapping[str, str]]
    """The types of the columns, by table."""
    rows: Mapping[str, Rows]
    state: Mapping[str, Any]
    """The state of the sources."""
    requests: tuple[str, ...] = ()
    """The requests to the local server, sorted."""

    @property
    def row_count(self) -> int:
        """The rows of all tables."""
        return sum(len(rows) for rows in self.rows.values())


def read_content(folder: Path) -> Content:
    """Read what the player wrote after a run."""
    result = json.loads((folder / "result.json").read_text("utf-8"))
    return Content(
        types=result["tables"],
        rows={
            name: pq.read_table(folder / f"{name}.parquet").to_pylist()
            for name in result["tables"]
            if (folder / f"{name}.parquet").is_file()
        },
        state=result["state"],
        requests=tuple(result["requests"]),
    )


def differences(expected: Content, actual: Content, *, with_state: bool = True) -> list[str]:
    """Return the differences of two contents, without ids of rows and loads; none if they are equal."""
    lines = _named_differences("table", sorted(expected.rows), sorted(actual.rows))
    for name in sorted(expected.rows.keys() & actual.rows.keys()):
        types, own = _own_types(expected.types[name]), _own_types(actual.types[name])
        lines += _named_differences(f"column of {name}", sorted(types.items()), sorted(own.items()))
    if not lines:
        roots = [name for name in sorted(expected.rows) if not _is_nested(expected.types[name])]
        for root in roots:
            before, after = (documents(_chain(content, root), root) for content in (expected, actual))
            lines += _named_differences(f"row of {root}", before["rows"], after["rows"])
            lines += [f"rows of {root} without a parent: {after['orphans']}"] if after["orphans"] else []
    states = [without_empty(dict(content.state)) for content in (expected, actual)]
    if with_state and states[0] != states[1]:
        lines.append(f"state: {states[0]} with dlt, {states[1]} with penstock")
    lines += _named_differences("request", list(expected.requests), list(actual.requests))
    return lines


def _named_differences(what: str, expected: list[Any], actual: list[Any]) -> list[str]:
    """Return what only one of two lists has, counting repeated items."""
    left, surplus = list(expected), []
    for item in actual:
        if item in left:
            left.remove(item)
        else:
            surplus.append(item)
    return [f"only dlt has {what} {item}" for item in left] + [
        f"only penstock has {what} {item}" for item in surplus
    ]


def _own_types(types: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for name, kind in types.items() if not name.startswith("_dlt")}


def _is_nested(types: Mapping[str, str]) -> bool:
    return "_dlt_parent_id" in types


def _chain(content: Content, root: str) -> dict[str, Rows]:
    """Return a root table and its nested tables, in comparable values."""
    return {
        name: [_comparable_row(row, content.types[name]) for row in rows]
        for name, rows in content.rows.items()
        if name == root or (name.startswith(f"{root}__") and _is_nested(content.types[name]))
    }


def _comparable_row(row: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: value if value is None or name.startswith("_dlt") else _comparable_value(value, types[name])
        for name, value in row.items()
    }


def _comparable_value(value: Any, data_type: str) -> Any:
    if data_type == "json" and isinstance(value, str):
        return json.loads(value)
    return comparable(value, data_type)
