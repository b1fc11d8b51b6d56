"""Replacements of dlt's destinations that penstock does not have."""

from __future__ import annotations

from typing import Final

_DUCKDB: Final = "load with penstock.destinations.delta, and read the tables with delta_scan of DuckDB"
_OTHERS: Final = "send the rows by a function: @penstock.destination"

_REPLACEMENTS: Final = {
    "athena": "load with penstock.destinations.iceberg(catalog='glue'), and read the tables with Athena",
    "databricks": "run on Databricks, and load with penstock.destinations.delta(catalog=...)",
    "ducklake": _DUCKDB,
    "motherduck": _DUCKDB,
}
_WITHOUT_EQUIVALENT: Final = (
    *(
        "bigquery",
        "clickhouse",
        "dremio",
        "dummy",
        "fabric",
        "lance",
        "lancedb",
        "mssql",
        "qdrant",
    ),
    *("redshift", "snowflake", "sqlalchemy", "synapse", "weaviate"),
)

REPLACEMENTS: Final = {**_REPLACEMENTS, **dict.fromkeys(_WITHOUT_EQUIVALENT, _OTHERS)}
"""By the name of a destination of dlt: what to do without a plug-in of that name."""
