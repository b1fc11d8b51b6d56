"""Files of DuckDB for tests: pipelines that load into one, and what it has then."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import duckdb

import penstock
from penstock import destinations

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

DATASET = "demo"
# In another process: where a process closes a file, it loses all of its locks on it.
_LOCK_PROGRAM: Final = (
    "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'a+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
)


def pipeline_into(folder: Path, name: str = "shop", **settings: Any) -> Pipeline:
    """Return a pipeline whose database is a file in a folder."""
    return penstock.pipeline(
        name,
        destination=destinations.duckdb(str(folder / "shop.duckdb"), **settings),
        dataset_name=DATASET,
        pipelines_dir=str(folder / "pipelines"),
    )


def rows_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, whose tables need no dataset."""
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(f'USE "{DATASET}"')
        table = connection.sql(query).to_arrow_table()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def tables_of(folder: Path) -> list[str]:
    """Return the tables of the dataset."""
    query = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{DATASET}' ORDER BY 1"
    return [name for (name,) in rows_of(folder, query)]


def is_locked(folder: Path) -> bool:
    """Return whether a process has the file open, so that no other one can open it."""
    path = folder / "shop.duckdb"
    command = [sys.executable, "-S", "-c", _LOCK_PROGRAM, str(path)]
    return path.exists() and subprocess.run(command, capture_output=True, check=False).returncode != 0
