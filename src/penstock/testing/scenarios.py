"""Sequences of loads and the tables that they must produce."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]

_PRIMARY_KEY_HINTS: Final = {"primary_key": "id"}
_HARD_DELETE_HINTS: Final = {"columns": {"gone": {"data_type": "bool", "hard_delete": True}}}
_DEDUP_HINTS: Final = {"columns": {"at": {"data_type": "bigint", "dedup_sort": "desc"}}}
_DAYS: Final = [f"2024-01-0{day}T00:00:00+00:00" for day in range(1, 5)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The rows of each load, and the expected documents."""

    name: str
    promise: str
    loads: Sequence[tuple[Sequence[Row], Mapping[str, Any]]]
    rows: Sequence[Row]
    hints: Mapping[str, Any] = field(default_factory=dict)
    nested: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def expected(self) -> dict[str, Any]:
        """The expected result of `documents`."""
        rows = [dict(sorted(row.items())) for row in self.rows]
        return {"rows": sorted(rows, key=repr), "orphans": {}}


def _loads(*loads: Sequence[Row]) -> list[tuple[Sequence[Row], Mapping[str, Any]]]:
    return [(rows, {}) for rows in loads]


def _merge_hints(strategy: str, **more: Any) -> dict[str, Any]:
    return {"write_disposition": {"disposition": "merge", "strategy": strategy, **more}}


def _tags(*values: str) -> list[dict[str, Any]]:
    return [{"value": value} for value in values]


def _scd2_loads(*loads: Sequence[Row], **more: Any) -> list[tuple[Sequence[Row], Mapping[str, Any]]]:
    """Loads of a table with history, each with its own timestamp."""
    moments = zip(loads, _DAYS, strict=False)
    return [(rows, _merge_hints("scd2", boundary_timestamp=moment, **more)) for rows, moment in moments]


def _version(row: Row, since: int, until: int | None = None) -> dict[str, Any]:
    ended = {} if until is None else {"_dlt_valid_to": _DAYS[until]}
    return {**row, "_dlt_valid_from": _DAYS[since], **ended}


_A, _B, _C = ({"id": number, "name": name} for number, name in ((1, "a"), (2, "b"), (3, "c")))
_NEW: Final = {"id": 1, "name": "new"}
_ODD_VALUES: Final = {
    "below": -0.5,
    "empty": "",
    "id": 2**53 + 1,
    "text": "ünï 'one' \"two\" `three` \\ %s\n",
    "yes": True,
}

SCENARIOS: Final[tuple[Scenario, ...]] = (
    Scenario(
        name="append-adds-rows",
        promise="an append adds rows, also duplicates",
        loads=_loads([_A, _B], [_A]),
        rows=[_A, _A, _B],
        needs=("append",),
    ),
    Scenario(
        name="append-adds-nested-rows",
        promise="lists become ordered nested rows",
        loads=_loads([{**_A, "tags": ["x", "y"], "parts": [{"sku": "s", "sizes": [3, 1]}]}], [_B]),
        rows=[
            {**_A, "tags": _tags("x", "y"), "parts": [{"sku": "s", "sizes": [{"value": 3}, {"value": 1}]}]},
            _B,
        ],
        nested=("tags", "parts", "parts__sizes"),
        needs=("append",),
    ),
    Scenario(
        name="append-adds-columns",
        promise="a new column is null in existing rows",
        loads=_loads([_A], [{**_B, "late": True}]),
        rows=[_A, {**_B, "late": True}],
        needs=("append",),
    ),
    Scenario(
        name="replace-exchanges-all-rows",
        promise="after a replace, tables have only the last rows and their nested rows",
        loads=_loads([{**_A, "tags": ["x"]}, _B], [{**_C, "parts": ["q"]}]),
        rows=[{**_C, "parts": _tags("q")}],
        hints={"write_disposition": "replace"},
        nested=("tags", "parts"),
        needs=("replace",),
    ),
    Scenario(
        name="replace-by-nothing-empties",
        promise="a replace without rows empties the tables, also nested ones",
        loads=_loads([{**_A, "tags": ["x"]}], []),
        rows=[],
        hints={"write_disposition": "replace"},
        nested=("tags",),
        needs=("replace",),
    ),
    Scenario(
        name="replace-after-nothing-brings-rows-again",
        promise="an emptied table accepts rows again, also nested ones",
        loads=_loads([{**_A, "tags": ["x"]}], [], [{**_B, "tags": ["y"]}]),
        rows=[{**_B, "tags": _tags("y")}],
        hints={"write_disposition": "replace"},
        nested=("tags",),
        needs=("replace",),
    ),
    Scenario(
        name="replace-of-partitions",
        promise="a replace replaces all partitions, also those without new rows",
        loads=_loads([{**_A, "day": "m"}, {**_B, "day": "t"}], [{**_C, "day": "t"}]),
        rows=[{**_C, "day": "t"}],
        hints={"write_disposition": "replace", "columns": {"day": {"data_type": "text", "partition": True}}},
        needs=("replace",),
    ),
    Scenario(
        name="skip-writes-nothing",
        promise="rows of a resource that is skipped are not written",
        loads=[([_A], {}), ([_B], {"write_disposition": "skip"})],
        rows=[_A],
        needs=("append",),
    ),
    Scenario(
        name="append-of-nothing-changes-nothing",
        promise="a load without rows, except a replace, keeps all rows",
        loads=_loads([{**_A, "tags": ["x"]}], []),
        rows=[{**_A, "tags": _tags("x")}],
        nested=("tags",),
        needs=("append",),
    ),
    Scenario(
        name="values-come-back",
        promise="numbers, texts and booleans are unchanged",
        loads=_loads([_ODD_VALUES]),
        rows=[_ODD_VALUES],
        needs=("append",),
    ),
    Scenario(
        name="merge-without-a-strategy",
        promise="with the default merge strategy, the last of two loads of a key wins",
        loads=_loads([{**_A, "tags": ["x", "y"]}, _B], [{**_NEW, "tags": ["z"]}, _C]),
        rows=[{**_NEW, "tags": _tags("z")}, _B, _C],
        hints={**_PRIMARY_KEY_HINTS, "write_disposition": "merge"},
        nested=("tags",),
        needs=("merge",),
    ),
    Scenario(
        name="merge-of-partitions",
        promise="a row is replaced by one with its key, also in another partition",
        loads=_loads([{**_A, "day": "m"}, {**_B, "day": "t"}], [{**_NEW, "day": "t"}]),
        rows=[{**_NEW, "day": "t"}, {**_B, "day": "t"}],
        hints={
            **_PRIMARY_KEY_HINTS,
            **_merge_hints("delete-insert"),
            "columns": {"day": {"data_type": "text", "partition": True}},
        },
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-replaces-rows-with-the-same-key",
        promise="a row with an existing primary key replaces the old one and its nested rows",
        loads=_loads([{**_A, "tags": ["x", "y"]}, _B], [{**_NEW, "tags": ["z"]}, _C]),
        rows=[{**_NEW, "tags": _tags("z")}, _B, _C],
        hints={**_PRIMARY_KEY_HINTS, **_merge_hints("delete-insert")},
        nested=("tags",),
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-clears-lists-that-shrink-to-nothing",
        promise="nested rows of two levels are deleted with their root row, also without new ones",
        loads=_loads([{**_A, "parts": [{"sku": "s", "sizes": [1, 2]}]}], [_NEW]),
        rows=[_NEW],
        hints={**_PRIMARY_KEY_HINTS, **_merge_hints("delete-insert")},
        nested=("parts", "parts__sizes"),
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-of-one-table",
        promise="a flat table is merged by a compound key",
        loads=_loads([_A, _B], [{**_A, "at": 1}, _NEW]),
        rows=[{**_A, "at": 1}, _B, _NEW],
        hints={"primary_key": ["id", "name"], **_merge_hints("delete-insert")},
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-by-merge-key-replaces-a-slice",
        promise="all rows with a loaded merge key are deleted, and all loaded rows are kept",
        loads=_loads(
            [{"day": "m", "id": 1}, {"day": "m", "id": 2}, {"day": "t", "id": 3}],
            [{"day": "m", "id": 4}, {"day": "m", "id": 4}],
        ),
        rows=[{"day": "m", "id": 4}, {"day": "m", "id": 4}, {"day": "t", "id": 3}],
        hints={"merge_key": "day", **_merge_hints("delete-insert")},
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-by-both-keys",
        promise="rows with the primary key or the merge key are deleted",
        loads=_loads(
            [{"day": "m", "id": 1}, {"day": "t", "id": 2}, {"day": "w", "id": 3}], [{"day": "t", "id": 1}]
        ),
        rows=[{"day": "t", "id": 1}, {"day": "w", "id": 3}],
        hints={**_PRIMARY_KEY_HINTS, "merge_key": "day", **_merge_hints("delete-insert")},
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-takes-the-newest-of-a-load",
        promise="of rows with equal keys, the first by dedup_sort is kept, with its nested rows",
        loads=_loads(
            [
                {"id": 1, "at": 1, "tags": ["x"]},
                {"id": 1, "at": 3, "tags": ["y"]},
                {"id": 1, "at": 2, "tags": ["z"]},
            ]
        ),
        rows=[{"id": 1, "at": 3, "tags": _tags("y")}],
        hints={**_PRIMARY_KEY_HINTS, **_DEDUP_HINTS, **_merge_hints("delete-insert")},
        nested=("tags",),
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-deletes-what-is-flagged",
        promise="a hard delete removes the row with its key and its nested rows, and is not inserted",
        loads=_loads(
            [{**_A, "tags": ["x"]}, _B], [{"id": 1, "gone": True, "tags": ["y"]}, {**_C, "gone": False}]
        ),
        rows=[_B, {**_C, "gone": False}],
        hints={**_PRIMARY_KEY_HINTS, **_HARD_DELETE_HINTS, **_merge_hints("delete-insert")},
        nested=("tags",),
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="merge-without-a-key-appends",
        promise="without a key, no row is deleted",
        loads=_loads([_A], [_A]),
        rows=[_A, _A],
        hints=_merge_hints("delete-insert"),
        needs=("merge", "delete-insert"),
    ),
    Scenario(
        name="upsert-updates-and-adds",
        promise="rows with an existing key are updated in all columns, nested rows are replaced",
        loads=_loads([{**_A, "at": 1, "tags": ["x", "y"]}, _B], [{**_NEW, "tags": ["z"]}, _C]),
        rows=[{**_NEW, "tags": _tags("z")}, _B, _C],
        hints={**_PRIMARY_KEY_HINTS, **_merge_hints("upsert")},
        nested=("tags",),
        needs=("merge", "upsert"),
    ),
    Scenario(
        name="upsert-takes-the-last-of-a-load",
        promise="of a duplicate key in a load, the last row wins, with its nested rows",
        loads=_loads([{**_A, "tags": ["x", "y", "z"]}, {**_NEW, "tags": ["w"]}]),
        rows=[{**_NEW, "tags": _tags("w")}],
        hints={**_PRIMARY_KEY_HINTS, **_merge_hints("upsert")},
        nested=("tags",),
        needs=("merge", "upsert"),
    ),
    Scenario(
        name="upsert-deletes-what-is-flagged",
        promise="a hard delete removes the row with its key, and is not inserted",
        loads=_loads([{**_A, "tags": ["x"]}, _B], [{"id": 1, "gone": True}, {**_C, "gone": True}]),
        rows=[_B],
        hints={**_PRIMARY_KEY_HINTS, **_HARD_DELETE_HINTS, **_merge_hints("upsert")},
        nested=("tags",),
        needs=("merge", "upsert"),
    ),
    Scenario(
        name="insert-only-changes-nothing",
        promise="rows with an existing key are unchanged",
        loads=_loads([_A, _B], [_NEW, _C]),
        rows=[_A, _B, _C],
        hints={**_PRIMARY_KEY_HINTS, **_merge_hints("insert-only")},
        needs=("merge", "insert-only"),
    ),
    Scenario(
        name="history-keeps-old-versions",
        promise="a changed or missing row ends its version; a row that returns starts a new one",
        loads=_scd2_loads([_A, _B], [_NEW, _B], [_A]),
        rows=[_version(_A, 0, 1), _version(_B, 0, 2), _version(_NEW, 1, 2), _version(_A, 2)],
        needs=("merge", "scd2"),
    ),
    Scenario(
        name="history-sees-nested-rows",
        promise="a change in a list is a new version, and nested rows of old versions are kept",
        loads=_scd2_loads([{**_A, "tags": ["x"]}], [{**_A, "tags": ["x", "y"]}]),
        rows=[_version({**_A, "tags": _tags("x")}, 0, 1), _version({**_A, "tags": _tags("x", "y")}, 1)],
        nested=("tags",),
        needs=("merge", "scd2"),
    ),
    Scenario(
        name="history-of-a-slice",
        promise="with a merge key, only versions with a loaded key end",
        loads=_scd2_loads([{"day": "m", "id": 1}, {"day": "t", "id": 2}], [{"day": "m", "id": 3}]),
        rows=[
            _version({"day": "m", "id": 1}, 0, 1),
            _version({"day": "t", "id": 2}, 0),
            _version({"day": "m", "id": 3}, 1),
        ],
        hints={"merge_key": "day"},
        needs=("merge", "scd2"),
    ),
    Scenario(
        name="a-table-that-was-appended-to-is-merged",
        promise="after a change of the strategy, no old nested rows remain",
        loads=[
            ([{**_A, "tags": ["x"], "parts": [{"sku": "s", "sizes": [1]}]}], {"write_disposition": "append"}),
            ([{**_NEW, "tags": ["y"]}], _merge_hints("delete-insert")),
        ],
        rows=[{**_NEW, "tags": _tags("y")}],
        hints=_PRIMARY_KEY_HINTS,
        nested=("tags", "parts", "parts__sizes"),
        needs=("merge", "delete-insert"),
    ),
)
