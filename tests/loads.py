"""Loads of each kind in one process, for the classes that they bring in: `python -m tests.loads`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.conftest import session_builder

import penstock

ROWS = [{"id": number, "at": "2026-07-01T12:00:00Z", "tags": ["a"]} for number in range(3)]


def load() -> None:
    """Twice into each lake: what comes first makes tables, what comes second merges."""
    spark = session_builder("delta", "iceberg").master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        for lake in (penstock.destinations.delta, penstock.destinations.iceberg):
            pipeline = penstock.pipeline(
                f"classes_{lake.__name__}",
                pipelines_dir=Path(folder) / "pipelines",
                destination=lake(bucket_url=f"{folder}/{lake.__name__}"),
                dataset_name="demo",
                spark=spark,
            )
            for _ in range(2):
                pipeline.run(ROWS, table_name="items", primary_key="id", write_disposition="merge")
            pipeline.dataset()["items"].fetchall()
    spark.stop()


if __name__ == "__main__":
    load()
