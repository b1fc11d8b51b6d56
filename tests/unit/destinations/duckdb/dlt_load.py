"""A load by dlt into a file of DuckDB; a program for a Python that has dlt and no penstock."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt

question: dict[str, Any] = json.load(sys.stdin)


def orders(last: Any = dlt.sources.incremental("number", initial_value=0)) -> Any:
    yield question["rows"]


pipeline = dlt.pipeline(
    "shop",
    pipelines_dir=question["folder"],
    destination=dlt.destinations.duckdb(question["file"]),
    dataset_name="demo",
)
pipeline.run(dlt.resource(orders, name="orders", **question["hints"])())
