"""Loads by dlt into DuckDB or Postgres; a program for a Python that has dlt and no penstock."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
import duckdb
import psycopg2  # type: ignore[import-untyped]  # only its environment has it

# Both tools use this module of this folder; the interpreter was started without the folder on its path.
sys.path.append(str(Path(__file__).parent))
# mypy finds them by their whole names.
from database_content import content_of  # type: ignore[import-not-found]
from turns import load_turn  # type: ignore[import-not-found]


def merges(question: dict[str, Any]) -> dict[str, Any]:
    """Return for each history the tables after each load, and the error of the load that failed, if one did.

    Histories are resources of one pipeline, which is much faster. If that fails, each has its own.
    """
    histories = question["histories"]
    # A history that may fail would fail the others too.
    risky = [history for history in histories if history["kind"].startswith(("append", "replace"))]
    safe = [history for history in histories if history not in risky]
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder), question.get("postgres"))
        result = database.load(safe) if safe else {}
        if any("error" in answer for answer in result.values()):
            risky, result = histories, {}
        for history in risky:
            result |= database.load([history])
        return result


def turn(question: dict[str, Any]) -> None:
    """Load one turn, on a machine without a working folder."""
    if question["postgres"] is not None:
        destination: Any = dlt.destinations.postgres(question["postgres"])
    else:
        destination = dlt.destinations.duckdb(question["file"])
    pipeline = dlt.pipeline(
        "shop",
        pipelines_dir=question["folder"],
        destination=destination,
        dataset_name=question["dataset"],
    )
    load_turn(dlt, pipeline, question["strategy"], question["turn"])


class Database:
    """A database of Postgres, or a file of DuckDB for each dataset."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self._folder, self._url = folder, url

    def load(self, histories: list[dict[str, Any]]) -> dict[str, Any]:
        """Load histories into a new dataset; return their tables after each load."""
        dataset = f"lake_{uuid.uuid4().hex[:8]}"
        pipeline = dlt.pipeline(
            dataset,
            pipelines_dir=str(self._folder),
            destination=self._destination(dataset),
            dataset_name=dataset,
        )
        result: dict[str, dict[str, Any]] = {history["name"]: {"loads": []} for history in histories}
        for number in range(max(len(history["loads"]) for history in histories)):
            going_on = [history for history in histories if number < len(history["loads"])]
            try:
                pipeline.run([_resource(history, number) for history in going_on])
            except Exception as error:
                for history in going_on:
                    result[history["name"]]["error"] = str(error)[:2000]
                break
            with closing(self._connect(dataset)) as connection:
                content = content_of(connection, dataset)
            for history in going_on:
                tables = {
                    table: rows for table, rows in content.items() if table.split("__")[0] == history["name"]
                }
                result[history["name"]]["loads"].append(tables)
        self._drop(dataset)
        return result

    def _destination(self, dataset: str) -> Any:
        if self._url is not None:
            return dlt.destinations.postgres(self._url)
        return dlt.destinations.duckdb(str(self._folder / f"{dataset}_file.duckdb"))

    def _connect(self, dataset: str) -> Any:
        if self._url is not None:
            return psycopg2.connect(self._url)
        return duckdb.connect(str(self._folder / f"{dataset}_file.duckdb"), read_only=True)

    def _drop(self, dataset: str) -> None:
        if self._url is None:
            return
        with closing(psycopg2.connect(self._url)) as connection, connection.cursor() as cursor:
            for name in (dataset, f"{dataset}_staging"):
                cursor.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
                connection.commit()


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


ACTIONS = {"merges": merges, "turn": turn}

if __name__ == "__main__":
    for line in sys.stdin:
        question = json.loads(line)
        answer = ACTIONS[question["ask"]](question)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
