"""How the tables of a dataset, their branches and what is known of them are called in a catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.destinations.lake.catalog import CatalogNames
from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCatalog(CatalogNames):
    """A catalog that knows Iceberg tables."""

    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What a session must be told to know the catalog; it may hold a password."""
    is_ours: bool = True
    """Whether penstock has named the catalog, and no session of the user's has it by itself."""

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session, which may be the user's.

        A session that does not know the catalog is told of it, under a name that nobody else uses. In one
        that has it by itself the catalog may remember tables as they were: it is asked to look again.
        """
        if self.is_ours:
            for key, value in self.conf.items():
                if spark.conf.get(key, None) != value:
                    spark.conf.set(key, value)
        else:
            spark.sql(f"REFRESH TABLE {self.sql_name(table)}")
        return CatalogNames.read(self, table, version, spark=spark)

    def branch(self, table: str, branch: str) -> str:
        """A branch of a table in SQL, to be written to."""
        return quoted(self.catalog, self.dataset, table, f"branch_{branch}")

    def look(self, table: str, shown: str) -> str:
        """The query for all snapshots and names of a table; `shown` is SQL for what is said of a snapshot."""
        snapshots, refs = (quoted(self.catalog, self.dataset, table, one) for one in ("snapshots", "refs"))
        return (
            f"SELECT snapshot_id, parent_id, operation, {shown} AS summary, NULL AS name FROM {snapshots} "
            f"UNION ALL SELECT snapshot_id, NULL, NULL, NULL, name FROM {refs}"
        )

    def create_branch(self, table: str, branch: str, version: int | None) -> str:
        """Begin a branch at a version, or with nothing in a table that has none.

        The version stays with it for as long as the branch does: readers are held there until the load is
        complete, and nobody's upkeep may delete it.
        """
        at = "" if version is None else f" AS OF VERSION {version}"
        name = quoted(branch)
        return (
            f"ALTER TABLE {self.sql_name(table)} CREATE BRANCH {name}{at} WITH SNAPSHOT RETENTION 2 SNAPSHOTS"
        )

    def drop_branch(self, table: str, branch: str) -> str:
        """Take a branch away, if it is there."""
        return f"ALTER TABLE {self.sql_name(table)} DROP BRANCH IF EXISTS {quoted(branch)}"

    def call(self, procedure: str, table: str, **arguments: str) -> str:
        """Call a procedure on a table; the arguments are SQL."""
        said = {"table": literal(self.sql_name(table)), **arguments}
        words = ", ".join(f"{name} => {value}" for name, value in said.items())
        return f"CALL {quoted(self.catalog)}.system.{procedure}({words})"
