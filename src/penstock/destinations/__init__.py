"""The destinations of penstock: lakes, plain files, databases, and functions; and names for plug-ins.

Input:   sealed jobs of a package.
Output:  committed tables, and a ledger of complete loads.
Imports: package, spark, interfaces, schema, config, errors.
"""

# The packages are imported first, so that the functions below keep their names.
import penstock.destinations.delta
import penstock.destinations.duckdb
import penstock.destinations.filesystem
import penstock.destinations.iceberg
import penstock.destinations.postgres  # noqa: F401 - see above
from penstock.destinations.factories import delta, duckdb, filesystem, iceberg, postgres
from penstock.destinations.functions.decorator import destination
from penstock.destinations.plugins import (
    athena,
    bigquery,
    clickhouse,
    databricks,
    dremio,
    ducklake,
    dummy,
    fabric,
    lance,
    lancedb,
    motherduck,
    mssql,
    qdrant,
    redshift,
    snowflake,
    sqlalchemy,
    synapse,
    weaviate,
)

__all__ = [
    "athena",
    "bigquery",
    "clickhouse",
    "databricks",
    "delta",
    "destination",
    "dremio",
    "duckdb",
    "ducklake",
    "dummy",
    "fabric",
    "filesystem",
    "iceberg",
    "lance",
    "lancedb",
    "motherduck",
    "mssql",
    "postgres",
    "qdrant",
    "redshift",
    "snowflake",
    "sqlalchemy",
    "synapse",
    "weaviate",
]
