"""The destinations of penstock: Delta, Iceberg, and plain files.

Input:   sealed jobs of a package.
Output:  committed tables, and a ledger of complete loads.
Imports: package, spark, interfaces, schema, config, errors.
"""

from typing import Any

# The packages are imported first, so that the functions below keep their names.
import penstock.destinations.delta
import penstock.destinations.filesystem
import penstock.destinations.iceberg  # noqa: F401 - see above
from penstock.interfaces import Destination, find_destination

__all__ = ["delta", "filesystem", "iceberg"]


def delta(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Return a destination of Delta tables: by path below `bucket_url`, or by name with `catalog=`.

    The default location is that of the configuration, else on a local Spark `./<pipeline_name>_lake`.

    >>> delta(bucket_url="s3://lake").destination_name
    'delta'
    """
    return Destination("delta", find_destination("delta"), {"bucket_url": bucket_url, **settings})


def filesystem(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Return a destination of folders below `bucket_url`: plain files, or the format that a table names.

    `layout` is the template for the names of plain files, `loader_file_format` one of `parquet`, `jsonl`,
    `csv`.

    >>> filesystem(bucket_url="s3://lake").destination_name
    'filesystem'
    """
    return Destination("filesystem", find_destination("filesystem"), {"bucket_url": bucket_url, **settings})


def iceberg(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Return a destination of Iceberg tables: below `bucket_url`, or in the catalog `catalog=`.

    The default location is that of the configuration, else on a local Spark `./<pipeline_name>_lake`.

    >>> iceberg(bucket_url="/lake", catalog="jdbc", catalog_properties={"uri": "jdbc:…"}).destination_name
    'iceberg'
    """
    return Destination("iceberg", find_destination("iceberg"), {"bucket_url": bucket_url, **settings})
