"""Where the water leaves: one folder for each destination.

Takes:   sealed jobs of a package.
Gives:   committed tables and a ledger that says which loads count.
Touches: package, spark, interfaces, schema, errors.
"""

from typing import Any

# The folders first, so that the functions below keep their names.
import penstock.destinations.delta
import penstock.destinations.filesystem
import penstock.destinations.iceberg  # noqa: F401 - see above
from penstock.interfaces import Destination, find_destination

__all__ = ["delta", "filesystem", "iceberg"]


def delta(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Delta tables by path, below `bucket_url`, or by name with `catalog=`.

    Without a location the one from the configuration holds, and on a local Spark `./<pipeline_name>_lake`.

    >>> delta(bucket_url="s3://lake").destination_name
    'delta'
    """
    return Destination("delta", find_destination("delta"), {"bucket_url": bucket_url, **settings})


def filesystem(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Tables in folders below `bucket_url`: plain files, or with `table_format="delta"` what `delta` writes.

    `layout` says what plain files are called, `loader_file_format` what they are: `parquet`, `jsonl`, `csv`.

    >>> filesystem(bucket_url="s3://lake").destination_name
    'filesystem'
    """
    return Destination("filesystem", find_destination("filesystem"), {"bucket_url": bucket_url, **settings})


def iceberg(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Iceberg tables in a catalog: below `bucket_url`, or in the one that `catalog=` says.

    Without a location the one from the configuration holds, and on a local Spark `./<pipeline_name>_lake`.

    >>> iceberg(bucket_url="/lake", catalog="jdbc", catalog_properties={"uri": "jdbc:…"}).destination_name
    'iceberg'
    """
    return Destination("iceberg", find_destination("iceberg"), {"bucket_url": bucket_url, **settings})
