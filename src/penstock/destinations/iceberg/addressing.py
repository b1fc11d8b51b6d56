"""Addressing of Iceberg tables, and the statements about their branches and snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.destinations.lake.addressing import CatalogNames
from penstock.errors import UsageError
from penstock.package.sql import literal, quote_name
from penstock.spark.iceberg_library import open_version
from penstock.spark.sqltext import check_table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.iceberg_library import IcebergVersion

_LOCATION_KEYS: Final = (".type", ".uri", ".warehouse")


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCatalog(CatalogNames):
    """A catalog of Iceberg tables."""

    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The session settings of the catalog; they may contain a password."""
    is_managed: bool = True
    """Whether penstock configures the catalog, so that the user's session may lack it."""

    def read(self, table: str, version: int | None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table in the given session, which may be the user's.

        A managed catalog is registered in the session, under a separate name. Any other catalog may cache
        tables, so the table is refreshed.
        """
        if self.is_managed:
            self._register(spark)
        else:
            check_table_name(self.sql_name(table), spark=spark)
            spark.sql(f"REFRESH TABLE {self.sql_name(table)}")
        return CatalogNames.read(self, table, version, spark=spark)

    def _register(self, spark: SparkSession) -> None:
        """Set the catalog in the session. A session opens a catalog once: later settings have no effect."""
        current = {key: spark.conf.get(key, None) for key in self.conf}
        if any(
            current[key] not in {None, self.conf[key]} for key in self.conf if key.endswith(_LOCATION_KEYS)
        ):
            raise UsageError(
                f"the session has another catalog with the name {self.catalog}",
                hint="give one of them another catalog_name, or read it in another session",
            )
        for key, value in self.conf.items():
            if current[key] != value:
                spark.conf.set(key, value)

    def open_version(self, table: str, *, spark: SparkSession) -> IcebergVersion | None:
        """Open the newest version of a table without a Spark job; None if only SQL reaches it."""
        return open_version(self.sql_name(table), spark=spark)

    def branch_sql_name(self, table: str, branch: str) -> str:
        """Return the name of a branch in SQL, to write to."""
        return quote_name(self.catalog, self.dataset, table, f"branch_{branch}")

    def history_query(self, table: str, summary: str) -> str:
        """Return the query for all snapshots and refs of a table; `summary` is SQL for the summary column."""
        snapshots, refs = (
            quote_name(self.catalog, self.dataset, table, view) for view in ("snapshots", "refs")
        )
        return (
            f"SELECT snapshot_id, parent_id, operation, {summary} AS summary, NULL AS name, NULL AS age "
            f"FROM {snapshots} UNION ALL "
            f"SELECT snapshot_id, NULL, NULL, NULL, name, max_reference_age_in_ms FROM {refs}"
        )

    def create_branch_statement(self, table: str, branch: str, version: int | None) -> str:
        """Return the statement that creates a branch at a version; an empty one in a table without commits.

        The branch retains the version: readers are held back to it until the load is complete, and no
        maintenance may expire it.
        """
        clause = "" if version is None else f" AS OF VERSION {version}"
        return (
            f"ALTER TABLE {self.sql_name(table)} CREATE BRANCH {quote_name(branch)}{clause} "
            "WITH SNAPSHOT RETENTION 2 SNAPSHOTS"
        )

    def expire_branch_statement(self, table: str, branch: str, version: int) -> str:
        """Return the statement that lets a branch expire, a day after the commit of its load.

        Until then a late attempt of the load finds that it is already committed.
        """
        return (
            f"ALTER TABLE {self.sql_name(table)} CREATE OR REPLACE BRANCH {quote_name(branch)} "
            f"AS OF VERSION {version} RETAIN 1 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS"
        )

    def drop_branch_statement(self, table: str, branch: str) -> str:
        """Return the statement that drops a branch if it exists."""
        return f"ALTER TABLE {self.sql_name(table)} DROP BRANCH IF EXISTS {quote_name(branch)}"

    def call_statement(self, procedure: str, table: str, **arguments: str) -> str:
        """Return the call of a procedure on a table; the arguments are SQL."""
        named = {"table": literal(self.sql_name(table)), **arguments}
        text = ", ".join(f"{name} => {value}" for name, value in named.items())
        return f"CALL {quote_name(self.catalog)}.system.{procedure}({text})"
