"""A program: one client of a Connect server runs one pipeline several times."""

import json
import logging
import os
import sys
from collections import Counter

from pyspark.sql import SparkSession

import penstock

location, pipelines_dir, number, loads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
UPSERT = {"disposition": "merge", "strategy": "upsert"}
conflicts: Counter[str] = Counter()


class Counting(logging.Handler):
    """A counter of commit retries by table."""

    def emit(self, record: logging.LogRecord) -> None:
        """Count one retry."""
        conflicts[record.getMessage().split(" ")[3]] += 1


def data(load: int) -> list[object]:
    """Return the data of this client: one table for it alone, and two that all clients load into."""
    own = [{"id": load * 10 + row, "tags": ["x", "y"]} for row in range(3)]
    events = [{"client": number, "load": load, "row": row} for row in range(2)]
    # Every key comes twice, the second time with a shorter list.
    accounts = [
        {"id": number * 1000 + load // 2, "client": number, "load": load, "lines": ["a", "b"][load % 2 :]}
    ]
    return [
        penstock.resource(own, name=f"own{number}"),
        penstock.resource(events, name="events"),
        penstock.resource(accounts, name="accounts", primary_key="id", write_disposition=UPSERT),
    ]


os.umask(0)
log = logging.getLogger("penstock.delta")
log.setLevel(logging.INFO)
log.addHandler(Counting())
spark = SparkSession.builder.remote(os.environ["PENSTOCK_TEST_CONNECT"]).getOrCreate()
pipeline = penstock.pipeline(
    f"client{number}",
    pipelines_dir=pipelines_dir,
    destination=penstock.destinations.delta(bucket_url=location),
    dataset_name="demo",
    spark=spark,
)
sys.stdin.readline()  # all clients start together
for load in range(loads):
    pipeline.run(data(load))
print(json.dumps(conflicts), flush=True)
