"""dlt and penstock take turns on one dataset, each on a machine without a working folder."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.oracle_client import PYTHON, needs_dlt
from tests.unit.destinations.duckdb.databases import pipeline_into, rows_of

import penstock

if TYPE_CHECKING:
    from pathlib import Path

TURNS = int(os.environ.get("PENSTOCK_TEST_TURNS", "20"))
PROGRAM = "tests/unit/destinations/duckdb/dlt_load.py"


def row(number: int) -> dict[str, Any]:
    return {"id": number % 7, "number": number, "tags": [{"tag": f"t{number}"}], f"by_{number % 3}": "new"}


def load_with_dlt(folder: Path, rows: list[dict[str, Any]], hints: dict[str, Any], turn: int) -> None:
    question = {
        "rows": rows,
        "hints": hints,
        "folder": str(folder / f"machine-{turn}"),
        "file": str(folder / "shop.duckdb"),
    }
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, "-P", PROGRAM], input=json.dumps(question), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]


def load_with_penstock(folder: Path, rows: list[dict[str, Any]], hints: dict[str, Any], turn: int) -> None:
    @penstock.resource(name="orders", **hints)
    def orders(last: Any = penstock.sources.incremental("number", initial_value=0)) -> Any:
        yield rows

    if (folder / "pipelines").exists():
        (folder / "pipelines").rename(folder / f"lost-{turn}")
    pipeline_into(folder).run(orders())


@needs_dlt
@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    "hints",
    [
        {"write_disposition": "append"},
        {"write_disposition": "merge", "primary_key": "id"},
        {"write_disposition": {"disposition": "merge", "strategy": "upsert"}, "primary_key": "id"},
    ],
    ids=["append", "delete-insert", "upsert"],
)
def test_dlt_and_penstock_continue_each_other(tmp_path: Path, hints: dict[str, Any]) -> None:
    for turn in range(TURNS):
        # The cursor of the turn before refuses what it has seen: each turn repeats two numbers.
        rows = [row(number) for number in range(max(1, turn * 3 - 1), turn * 3 + 3)]
        (load_with_dlt if turn % 2 else load_with_penstock)(tmp_path, rows, hints, turn)

    numbers = range(1, TURNS * 3)
    expected = {number % 7: number for number in numbers} if "primary_key" in hints else None
    stored = rows_of(tmp_path, "SELECT id, number FROM orders ORDER BY number")
    assert stored == (
        sorted(expected.items(), key=lambda pair: pair[1])
        if expected
        else [(number % 7, number) for number in numbers]
    )
    joined = (
        "SELECT o.number, t.tag FROM orders o JOIN orders__tags t ON t._dlt_parent_id = o._dlt_id ORDER BY 1"
    )
    assert rows_of(tmp_path, joined) == [(number, f"t{number}") for _, number in stored]
    assert rows_of(tmp_path, "SELECT count(*) FROM orders__tags") == [(len(stored),)]
    assert rows_of(tmp_path, "SELECT count(*), count(DISTINCT load_id) FROM _dlt_loads") == [(TURNS, TURNS)]
