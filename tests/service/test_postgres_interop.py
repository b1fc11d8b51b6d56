"""dlt and penstock take turns on one dataset of Postgres. Needs a Python with dlt and psycopg2."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.service.postgres import URL
from tests.service.test_postgres_loads import dataset, drop_schemas, new_pipeline, rows_of

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["dataset"]
_PROGRAM = Path(__file__).parent / "postgres_side" / "run_dlt.py"
_ROWS = [{"id": number, "items": [{"sku": f"{number}"}]} for number in range(3)]


def load_by_dlt(name: str, folder: Path, rows: list[dict[str, Any]]) -> None:
    python = os.environ.get("PENSTOCK_TEST_DLT_POSTGRES_PYTHON")
    if python is None:
        pytest.skip("PENSTOCK_TEST_DLT_POSTGRES_PYTHON does not name a Python with dlt 1.31 and psycopg2")
    command = [python, str(_PROGRAM), URL, name, str(folder), json.dumps(rows)]
    quiet = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
    quiet.pop("PYTHONPATH", None)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr


def load_by_penstock(name: str, folder: Path, rows: list[dict[str, Any]]) -> None:
    @penstock.resource(name="orders", primary_key="id", write_disposition="merge")
    def orders() -> Iterator[list[dict[str, Any]]]:
        state = penstock.current.resource_state()
        state["runs"] = state.get("runs", 0) + 1
        yield [{**row, "run": state["runs"]} for row in rows]

    new_pipeline(name, folder).run(orders())


@pytest.mark.at_length
@pytest.mark.parametrize("first", ["dlt", "penstock"])
def test_dlt_and_penstock_take_turns_on_one_dataset(dataset: str, tmp_path: Path, first: str) -> None:
    sides = {"dlt": load_by_dlt, "penstock": load_by_penstock}
    second = "penstock" if first == "dlt" else "dlt"

    for turn in range(4):
        side = sides[(first, second)[turn % 2]]
        side(dataset, tmp_path / f"machine-{turn}", [*_ROWS, {"id": 10 + turn, "items": []}])

    orders = rows_of("SELECT id, run FROM orders ORDER BY id", dataset=dataset)
    items = rows_of("SELECT count(*), count(DISTINCT _dlt_root_id) FROM orders__items", dataset=dataset)
    assert orders == [(0, 4), (1, 4), (2, 4), (10, 1), (11, 2), (12, 3), (13, 4)]
    assert items == [(3, 3)]
    assert rows_of("SELECT count(*) FROM _dlt_loads", dataset=dataset) == [(4,)]
    drop_schemas(dataset)
