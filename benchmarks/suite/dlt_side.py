"""The side of dlt: answers commands, each a JSON line, with JSON lines. Run by a Python that has dlt."""

from __future__ import annotations

import json
import runpy
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dlt

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = runpy.run_path(str(Path(__file__).parents[1] / "events.py"))
FOLDER = Path(sys.argv[1])


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Measure seconds and processor seconds of a block."""
    result: dict[str, float] = {}
    began, worked = time.monotonic(), time.process_time()
    yield result
    result["seconds"] = time.monotonic() - began
    result["processor seconds"] = time.process_time() - worked


def pipeline(name: str, **destination: Any) -> Any:
    """Return a pipeline to files, below the folder unless an address is passed."""
    address = destination.pop("bucket_url", str(FOLDER / name / "lake"))
    lake = dlt.destinations.filesystem(address, **destination)
    return dlt.pipeline(name, pipelines_dir=str(FOLDER / name), dataset_name="d", destination=lake)


def append(rows: int) -> dict[str, float]:
    """Append nested rows to four Delta tables: again to the same ones in each call."""
    events, target = list(ROWS["events"](rows)), pipeline("append")
    with measured() as result:
        target.run(events, table_name="events", table_format="delta")
    return result


def tables(name: str, count: int, **destination: Any) -> dict[str, float]:
    """Append to many small Delta tables; a second call with the same name appends again."""
    target = pipeline(name, **destination)
    data = [
        dlt.resource(ROWS["small_table"](number), name=f"table_{number}", table_format="delta")
        for number in range(count)
    ]
    with measured() as result:
        target.run(data)
    return result


def sql(name: str, url: str, table: str) -> dict[str, float]:
    """Load a table of Postgres by connectorx into a new Delta table."""
    from dlt.sources.sql_database import sql_table  # noqa: PLC0415 - other cases have no need of it

    rows = sql_table(
        url,
        table,
        schema="public",
        backend="connectorx",
        chunk_size=100_000,
        backend_kwargs={"return_type": "arrow"},
    )
    target = pipeline(name)
    with measured() as result:
        target.run(rows, table_format="delta")
    return result


def duckdb(name: str, files: str) -> dict[str, float]:
    """Load Parquet files, read as Arrow tables, into a new file of DuckDB."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - other cases have no need of it

    tables = (pq.read_table(file) for file in sorted(Path(files).glob("*.parquet")))
    folder = FOLDER / name
    folder.mkdir(parents=True)
    destination = dlt.destinations.duckdb(str(folder / "bench.duckdb"))
    target = dlt.pipeline(name, pipelines_dir=str(folder), dataset_name="d", destination=destination)
    with measured() as result:
        target.run(tables, table_name="rows", loader_file_format="parquet")
    return result


def nested(name: str, rows: int) -> dict[str, float]:
    """Normalize and load nested rows into Delta tables; their extraction is measured apart."""
    target = pipeline(name)
    with measured() as extracted:
        target.extract(ROWS["events"](rows), table_name="events", table_format="delta")
    with measured() as result:
        target.normalize()
        target.load()
    return {**result, "seconds with extract": result["seconds"] + extracted["seconds"]}


ACTIONS: dict[str, Any] = {"append": append, "tables": tables, "sql": sql, "duckdb": duckdb, "nested": nested}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(ACTIONS[command.pop("action")](**command)), flush=True)


if __name__ == "__main__":
    main()
