"""Scenarios played with dlt on DuckDB; a program for a Python that has dlt and no penstock."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
import duckdb

# Both tools use this module of this folder; the interpreter was started without the folder on its path.
sys.path.append(str(Path(__file__).parent))
from scenario_runner import NAME, play  # type: ignore[import-not-found]  # mypy finds it by its whole name


class DuckLake:
    """One database."""

    tool = dlt

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "pipelines"
        self._file = folder / "tables.duckdb"

    def pipeline(self, dataset: str, *, knows_destination: bool = True) -> Any:
        """Return a pipeline as a new process creates it."""
        options = {"destination": dlt.destinations.duckdb(str(self._file))} if knows_destination else {}
        return dlt.pipeline(NAME, pipelines_dir=str(self.folder), dataset_name=dataset, **options)

    def content(self, dataset: str) -> dict[str, Any]:
        """Return the tables with their rows, and the number of complete loads."""
        with duckdb.connect(str(self._file)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            result = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", [dataset]
            ).fetchall()
            names = sorted(name for (name,) in result)
            loads = 0
            if "_dlt_loads" in names:
                asked = f"SELECT count(*) FROM {dataset}._dlt_loads WHERE status = 0"
                ((loads,),) = connection.execute(asked).fetchall()
            own = [name for name in names if not name.startswith("_dlt")]
            return {"loads": loads, "tables": {name: _rows(connection, dataset, name) for name in own}}

    def spoil(self, dataset: str, table: str) -> None:
        """Replace a table by hand with one row and a text column for ids."""
        self._put(dataset, table, "STRUCT(a INTEGER)", "INSERT INTO {} VALUES ({{'a': 7}}, 7, 'by', 'hand')")

    def mend(self, dataset: str, table: str) -> None:
        """Replace a table by hand with an empty one and a number column for ids."""
        self._put(dataset, table, "BIGINT")

    def _put(self, dataset: str, table: str, kind: str, *then: str) -> None:
        name = f"{dataset}.{table}"
        columns = f"id {kind}, price BIGINT, _dlt_load_id VARCHAR, _dlt_id VARCHAR"
        with duckdb.connect(str(self._file)) as connection:
            for text in (f"CREATE OR REPLACE TABLE {name} ({columns})", *then):
                connection.execute(text.format(name))


def _rows(connection: Any, dataset: str, table: str) -> list[dict[str, Any]]:
    result = connection.execute(f'SELECT * FROM {dataset}."{table}"')
    names = [item[0] for item in result.description]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in result.fetchall()]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def scenarios(question: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of each scenario."""
    os.environ |= question.get("settings", {})
    result = {}
    for name, scenario in question["scenarios"].items():
        with tempfile.TemporaryDirectory() as folder:
            result[name] = play(DuckLake(Path(folder)), scenario)
    return result


if __name__ == "__main__":
    sys.stdout.write(json.dumps(scenarios(json.load(sys.stdin))))
