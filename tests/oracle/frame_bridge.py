"""Frames extracted by dlt; a program for a Python that has dlt and no penstock.

One JSON document `{"ask": "frames", "paths": [...]}` comes on standard input: Arrow files, one table each.
The results go to standard output: the columns that dlt declared, and the values in its files.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
import pyarrow as pa
import pyarrow.parquet as pq
from dlt.pipeline.exceptions import PipelineStepFailed

TABLE = "t"
FACETS = ("data_type", "precision", "scale")


def note(path: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, pa.ipc.open_file(path) as frame:
        pipeline = dlt.pipeline("frames", pipelines_dir=folder, destination="dummy")
        try:
            pipeline.extract(frame.read_all(), table_name=TABLE)
        except PipelineStepFailed as error:
            return {"error": type(error.__cause__).__name__}
        files = sorted(Path(folder).glob("frames/normalize/**/new_jobs/*.parquet"))
        rows = [coded(row) for file in files for row in pq.read_table(file).to_pylist()]
        declared = pipeline.default_schema.tables[TABLE]["columns"]
    columns = {
        name: {key: column[key] for key in FACETS if key in column} for name, column in declared.items()
    }
    return {"columns": columns, "rows": rows}


def coded(value: Any) -> Any:
    match value:
        case dict():
            return {key: coded(item) for key, item in value.items()}
        case list() | tuple():
            return [coded(item) for item in value]
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return value


def main() -> None:
    question = json.load(sys.stdin)
    json.dump({Path(path).stem: note(Path(path)) for path in question["paths"]}, sys.stdout)


if __name__ == "__main__":
    main()
