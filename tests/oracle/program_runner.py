"""Programs that load into files of DuckDB, run with dlt or penstock in folders of their own.

The Python of dlt imports it too, so it imports neither tool.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = {path.stem: path for path in sorted((Path(__file__).parent / "snippets" / "duckdb").glob("*.py"))}
_SUFFIX = re.compile(r"_20\d{12}$")
_VALIDITY = ("_dlt_valid_from", "_dlt_valid_to")


def run_program(
    name: str, folder: Path, read: Callable[[Any, str], dict[str, Any]], *, tool: str = "dlt"
) -> dict[str, Any]:
    """Run a program in a folder; return its output, and the datasets in the files that it has written."""
    text = PROGRAMS[name].read_text(encoding="utf-8")
    if tool != "dlt":
        text = re.sub("^import dlt$", f"import {tool} as dlt", text, flags=re.MULTILINE)
        text = re.sub(r"^from dlt\b", f"from {tool}", text, flags=re.MULTILINE)
    program, output = folder / "program.py", io.StringIO()
    program.write_text(text, encoding="utf-8")
    before, place = dict(os.environ), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(str(program), run_name="__main__")
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)
    datasets: dict[str, Any] = {}
    for file in sorted(folder.glob("*.duckdb")):
        with duckdb.connect(str(file), read_only=True) as connection:
            datasets |= _datasets(connection, read)
    return {"output": output.getvalue().splitlines(), "datasets": datasets}


def _datasets(connection: Any, read: Callable[[Any, str], dict[str, Any]]) -> dict[str, Any]:
    rows = connection.execute("SELECT DISTINCT schema_name FROM duckdb_tables()").fetchall()
    result = {}
    for name in sorted(name for (name,) in rows if not name.endswith("_staging")):
        loads = f'SELECT schema_name, status FROM "{name}"._dlt_loads ORDER BY load_id'
        result[_SUFFIX.sub("_<now>", name)] = {
            "loads": [list(row) for row in connection.execute(loads).fetchall()],
            "tables": {
                table: {"columns": list(content["columns"].items()), "rows": content["rows"]}
                for table, content in read(connection, name).items()
            },
        }
    return result


def comparable(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome in which ids of rows and times of loads are numbers, and rows are sorted."""
    return {**outcome, "datasets": {name: _numbered(item) for name, item in outcome["datasets"].items()}}


def _numbered(dataset: dict[str, Any]) -> dict[str, Any]:
    """Number the rows of each table by their content, that of their parent and their number in its list."""
    tables = dataset["tables"]
    numbers: dict[str, str] = {}
    result: dict[str, Any] = {}
    for table in sorted(tables, key=lambda name: (name.count("__"), name)):
        rows = [_without_times(row, tables[table]["rows"]) for row in tables[table]["rows"]]
        for row in rows:
            for link in ("_dlt_parent_id", "_dlt_root_id"):
                if link in row:
                    row[link] = numbers.get(row[link], "of no row")
        keyed = sorted(rows, key=lambda row: repr({**row, "_dlt_id": ""}))
        for number, row in enumerate(keyed):
            if "_dlt_id" in row:
                numbers[row["_dlt_id"]] = f"{table} {number}"
                row["_dlt_id"] = number
        result[table] = {"columns": tables[table]["columns"], "rows": keyed}
    return {**dataset, "tables": result}


def _without_times(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    times = sorted({other[name] for other in rows for name in _VALIDITY if other.get(name)})
    return {name: times.index(value) if name in _VALIDITY and value else value for name, value in row.items()}
