"""Runs one program with the tool of this process, and writes the content of the dataset after each run.

`python play.py DRIVER FOLDER` with dlt; with penstock `penstock run play.py --as-dlt DRIVER FOLDER`, or the
same as with dlt after the imports were replaced. A driver has the function `run(turn)`, which runs the
program and returns its pipeline, and if it needs them `answer(request)` and `TURNS`.
"""

import importlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dlt
import pyarrow.parquet as pq

# Drivers and server are beside this file.
sys.path.insert(0, str(Path(__file__).parent))
import server  # type: ignore[import-not-found]  # mypy finds it by its whole name


def main(name: str, folder: Path) -> None:
    """Run the program in its turns."""
    driver: Any = importlib.import_module(name)
    answer = getattr(driver, "answer", None)
    with server.local_api(answer or _refuse) as api:
        for turn in range(1, getattr(driver, "TURNS", 1) + 1):
            api.turn, api.lines = turn, []
            pipeline = driver.run(turn)
            write(pipeline, folder / f"turn-{turn}", sorted(api.lines))
        if api.faults:
            sys.exit("\n".join(["requests without a reply:", *api.faults]))


def write(pipeline: Any, folder: Path, requests: list[str]) -> None:
    """Write the tables as Parquet, and schema, state and requests as JSON."""
    folder.mkdir(parents=True)
    tables = {
        name: {
            column: facts["data_type"] for column, facts in table["columns"].items() if "data_type" in facts
        }
        for name, table in pipeline.default_schema.tables.items()
        if not name.startswith("_dlt")
    }
    dataset = pipeline.dataset()
    for name, columns in tables.items():
        if columns:
            pq.write_table(dataset[name].arrow(), folder / f"{name}.parquet")
    result = {"tables": tables, "state": pipeline.state.get("sources", {}), "requests": requests}
    (folder / "result.json").write_text(json.dumps(result, default=_text, indent=1))


def _text(value: Any) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)


def _refuse(request: Any) -> Any:
    raise LookupError(f"a program without an API asked for {request.path}")


if __name__ == "__main__":
    print("tool:", dlt.pipeline.__module__)
    main(sys.argv[1], Path(sys.argv[2]))
