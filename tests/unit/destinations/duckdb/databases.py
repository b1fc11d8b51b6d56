"""Files of DuckDB for tests: pipelines that load into one, and what it has then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

import penstock
from penstock import destinations

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

DATASET = "demo"


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
