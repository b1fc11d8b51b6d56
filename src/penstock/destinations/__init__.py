"""The destinations of penstock: Delta, Iceberg, plain files, and functions.

Input:   sealed jobs of a package.
Output:  committed tables, and a ledger of complete loads.
Imports: package, spark, interfaces, schema, config, errors.
"""

# The packages are imported first, so that the functions below keep their names.
import penstock.destinations.delta
import penstock.destinations.filesystem
import penstock.destinations.iceberg  # noqa: F401 - see above
from penstock.destinations.factories import delta, filesystem, iceberg
from penstock.destinations.functions.decorator import destination

__all__ = ["delta", "destination", "filesystem", "iceberg"]
