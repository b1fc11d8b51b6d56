"""Where the water leaves: one folder for each destination.

Takes:   sealed jobs of a package.
Gives:   committed tables and a ledger that says which loads count.
Touches: package, spark, interfaces, schema, errors.
"""

from typing import Any

import penstock.destinations.delta  # noqa: F401 - the folder first, so that the function below keeps its name
from penstock.interfaces import Destination, find_destination

__all__ = ["delta"]


def delta(bucket_url: str | None = None, **settings: Any) -> Destination:
    """Delta tables by path, below `bucket_url`.

    Without a location the one from the configuration holds, and on a local Spark `./<pipeline_name>_lake`.

    >>> delta(bucket_url="s3://lake").destination_name
    'delta'
    """
    return Destination("delta", find_destination("delta"), {"bucket_url": bucket_url, **settings})
