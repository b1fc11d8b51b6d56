"""How the tables of a dataset, their branches and what is known of them are called in a catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.destinations.lake.addressing import CatalogNames
from penstock.errors import UsageError
from penstock.package.sql import literal, quote_name
from penstock.spark.sqltext import check_table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

_LOCATION_KEYS: Final = (".type", ".uri", ".warehouse")


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCatalog(CatalogNames):
    """A catalog that knows Iceberg tables."""

    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What a session must be told to know the catalog; it may hold a password."""
    is_managed: bool = True
    """Whether penstock has named the catalog, and no session of the user's has it by itself."""

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session, which may be the user's.

        A session that does not know the catalog is told of it, under a name that nobody else uses. In one
        that has it by itself the catalog may remember tables as they were: it is asked to look again.
        """
        if self.is_managed:
            self._register(spark)
        else:
            check_table_name(self.sql_name(table), spark=spark)
            spark.sql(f"REFRESH TABLE {self.sql_name(table)}")
        return CatalogNames.read(self, table, version, spark=spark)

    def _register(self, spark: SparkSession) -> None:
        """A session opens a catalog once: what it is told of it afterwards changes nothing."""
        has = {key: spark.conf.get(key, None) for key in self.conf}
        if any(has[key] not in {None, self.conf[key]} for key in self.conf if key.endswith(_LOCATION_KEYS)):
            raise UsageError(
                f"the session has another catalog with the name {self.catalog}",
                hint="give one of them another catalog_name, or read it in another session",
            )
        for key, value in self.conf.items():
            if has[key] != value:
                spark.conf.set(key, value)

    def branch_sql_name(self, table: str, branch: str) -> str:
        """A branch of a table in SQL, to be written to."""
        return quote_name(self.catalog, self.dataset, table, f"branch_{branch}")

    def history_query(self, table: str, summary: str) -> str:
        """The query for all snapshots and names of a table; `shown` is SQL for what is said of a snapshot."""
        snapshots, refs = (
            quote_name(self.catalog, self.dataset, table, one) for one in ("snapshots", "refs")
        )
        return (
            f"SELECT snapshot_id, parent_id, operation, {summary} AS summary, NULL AS name, NULL AS age "
            f"FROM {snapshots} UNION ALL "
            f"SELECT snapshot_id, NULL, NULL, NULL, name, max_reference_age_in_ms FROM {refs}"
        )

    def create_branch_statement(self, table: str, branch: str, version: int | None) -> str:
        """Begin a branch at a version, or with nothing in a table that has none.

        The version stays with it for as long as the branch does: readers are held there until the load is
        complete, and nobody's upkeep may delete it.
        """
        at = "" if version is None else f" AS OF VERSION {version}"
        name = quote_name(branch)
        return (
            f"ALTER TABLE {self.sql_name(table)} CREATE BRANCH {name}{at} WITH SNAPSHOT RETENTION 2 SNAPSHOTS"
        )

    def expire_branch_statement(self, table: str, branch: str, version: int) -> str:
        """Let a branch go by itself, a day after the commit of its load, when anybody expires snapshots.

        Until then it tells an attempt of the load that comes late that there is nothing left to do.
        """
        return (
            f"ALTER TABLE {self.sql_name(table)} CREATE OR REPLACE BRANCH {quote_name(branch)} "
            f"AS OF VERSION {version} RETAIN 1 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS"
        )

    def drop_branch_statement(self, table: str, branch: str) -> str:
        """Take a branch away, if it is there."""
        return f"ALTER TABLE {self.sql_name(table)} DROP BRANCH IF EXISTS {quote_name(branch)}"

    def call_statement(self, procedure: str, table: str, **arguments: str) -> str:
        """Call a procedure on a table; the arguments are SQL."""
        said = {"table": literal(self.sql_name(table)), **arguments}
        words = ", ".join(f"{name} => {value}" for name, value in said.items())
        return f"CALL {quote_name(self.catalog)}.system.{procedure}({words})"
