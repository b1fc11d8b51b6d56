"""Adapters: functions that set the hints of one destination on a resource.

penstock itself reads the hints of `databricks_adapter` and `iceberg_adapter`. The others are for third-party
destinations, which find them in the tables of their schema.
"""

from penstock.destinations.adapters.lakes import (
    PartitionSpec,
    databricks_adapter,
    iceberg_adapter,
    iceberg_partition,
)
from penstock.destinations.adapters.partitions import athena_partition, bigquery_partition
from penstock.destinations.adapters.vector_stores import (
    lance_adapter,
    lancedb_adapter,
    qdrant_adapter,
    weaviate_adapter,
)
from penstock.destinations.adapters.warehouses import (
    athena_adapter,
    bigquery_adapter,
    clickhouse_adapter,
    postgres_adapter,
    synapse_adapter,
)

__all__ = [
    "PartitionSpec",
    "athena_adapter",
    "athena_partition",
    "bigquery_adapter",
    "bigquery_partition",
    "clickhouse_adapter",
    "databricks_adapter",
    "iceberg_adapter",
    "iceberg_partition",
    "lance_adapter",
    "lancedb_adapter",
    "postgres_adapter",
    "qdrant_adapter",
    "synapse_adapter",
    "weaviate_adapter",
]
