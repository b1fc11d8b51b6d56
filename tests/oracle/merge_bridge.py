"""Histories loaded into DuckDB by dlt; a program for a Python that has dlt and no penstock."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
import duckdb


def merges(question: dict[str, Any]) -> dict[str, Any]:
    """Return for each history the tables after its last load, or the error of the failed load.

    Histories are resources of one pipeline, which is much faster. If that fails, each has its own.
    """
    histories = question["histories"]
    # A history that may fail would fail the others too.
    risky = [history for history in histories if history["kind"].startswith(("append", "replace"))]
    safe = [history for history in histories if history not in risky]
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = _loaded(safe, "together", Path(folder)) if safe else {}
        except Exception:
            risky, result = histories, {}
        return result | {item["name"]: _alone(item, Path(folder)) for item in risky}


def _alone(history: dict[str, Any], folder: Path) -> dict[str, Any]:
    name = history["name"]
    try:
        result: dict[str, Any] = _loaded([history], name, folder)[name]
    except Exception as error:
        return {"error": str(error)[:2000]}
    return result


def _loaded(histories: list[dict[str, Any]], name: str, folder: Path) -> dict[str, Any]:
    file = folder / f"{name}.duckdb"
    pipeline = dlt.pipeline(
        name,
        pipelines_dir=str(folder),
        destination=dlt.destinations.duckdb(str(file)),
        dataset_name="lake",
    )
    for number in range(max(len(history["loads"]) for history in histories)):
        pipeline.run([_resource(history, number) for history in histories if number < len(history["loads"])])
    with duckdb.connect(str(file), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        result = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'lake'"
        ).fetchall()
        tables = sorted(table for (table,) in result if not table.startswith("_dlt"))
        roots = {table: table.partition("__")[0] for table in tables}
        return {
            history["name"]: {
                "tables": {t: _rows(connection, t) for t in tables if roots[t] == history["name"]}
            }
            for history in histories
        }


def _resource(history: dict[str, Any], number: int) -> Any:
    load = history["loads"][number]
    return dlt.resource(
        load["rows"],
        name=history["name"],
        write_disposition=load["write_disposition"],
        primary_key=history["primary_key"] or None,
        merge_key=history["merge_key"] or None,
        columns=history["columns"],
    )


def _rows(connection: Any, table: str) -> list[dict[str, Any]]:
    result = connection.execute(f'SELECT * FROM lake."{table}"')
    names = [item[0] for item in result.description]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in result.fetchall()]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, (date, Decimal)) else value


if __name__ == "__main__":
    sys.stdout.write(json.dumps(merges(json.load(sys.stdin))))
