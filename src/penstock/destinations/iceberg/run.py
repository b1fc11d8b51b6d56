"""Commits to Iceberg tables: each is atomic, marked with its load, and made once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from penstock.destinations.iceberg.catalog import IcebergCatalog
from penstock.destinations.iceberg.commit_metadata import COUNT_PROPERTIES, PROPERTY_PREFIX
from penstock.destinations.iceberg.conflicts import CommittedMeanwhile, retry_on_conflict
from penstock.destinations.iceberg.ddl import (
    add_columns_statement,
    create_statement,
    missing_fields,
    replace_statement,
    table_properties,
)
from penstock.destinations.iceberg.lineage import IcebergSnapshot, Lineage
from penstock.destinations.iceberg.publisher import Publisher
from penstock.destinations.iceberg.struct_alignment import align_structs
from penstock.destinations.iceberg.undo import LoadUndo
from penstock.destinations.lake.addressing import DatasetTables
from penstock.errors import CommitRolledBack
from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.iceberg.settings import CommitMode
    from penstock.destinations.lake.merge_statement import MergeStatement
    from penstock.interfaces import AppliedJob, LoadMark, TableCommit
    from penstock.schema import Table

_SOURCE_VIEW: Final = "penstock_merge_source"
_NESTED_TYPES: Final = (ArrayType, MapType, StructType)
_READ_ATTEMPTS: Final = 3
# Tables that live long have many snapshots, and each says much that nobody here asks for.
_SUMMARY_SQL: Final = (
    f"map_filter(summary, (name, value) -> startswith(name, {literal(PROPERTY_PREFIX)}) "
    f"OR name IN ({', '.join(map(literal, COUNT_PROPERTIES))}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTables(DatasetTables[IcebergCatalog]):
    """The tables of one dataset."""

    commit_mode: CommitMode = "branch"
    """How commits are made."""
    previous_tables: Callable[[], Mapping[str, Table]] = dict
    """The tables as the last complete load left them: a table that is taken back gets their partitions."""

    @property
    def can_merge_from_itself(self) -> bool:
        """A source goes by the name of a view, and Spark 4.1 finds no plan for tables of a catalog in one."""
        return False

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        return self.addressing.read(table, version, spark=spark)

    def read_lineage(self, table: str, *, spark: SparkSession) -> Lineage:
        """All snapshots of a table and the names that some of them have, in one job."""
        for _ in range(_READ_ATTEMPTS):
            found = _parse_lineage(spark.sql(self.addressing.lineage_query(table, _SUMMARY_SQL)).collect())
            if not found.is_torn:
                return found
        raise CommittedMeanwhile(f"{table} changes faster than it can be looked at")

    def version(self, table: str, *, spark: SparkSession) -> int | None:
        """The snapshot that readers see; None before the first."""
        return self.read_lineage(table, spark=spark).head

    def properties_of(self, table: str, *, spark: SparkSession) -> dict[str, str]:
        """The properties that a table has."""
        told = spark.sql(f"SHOW TBLPROPERTIES {self.sql_name(table)}").collect()
        return {row["key"]: row["value"] for row in told}

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> tuple[TableCommit, ...]:
        """The commits, newest first, and the loads that made them."""
        return self.read_lineage(table, spark=spark).commits()[:most]

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append once; a table that is not there is made as its hints say."""
        return self._commit(
            table,
            rows,
            mark,
            lambda target: self._align_rows(table.name, rows, spark).writeTo(target).append(),
            spark=spark,
        )

    def overwrite(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Replace all rows in one commit.

        The table stays, with its partitions, properties and grants, and with columns that these rows lack.
        """
        everything = F.lit(True)  # noqa: FBT003 - a condition that all rows fulfil
        return self._commit(
            table,
            rows,
            mark,
            lambda target: self._align_rows(table.name, rows, spark).writeTo(target).overwrite(everything),
            spark=spark,
        )

    def recreate(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Put these rows and their columns in the place of all that is there, in one commit.

        Readers of earlier snapshots see what was there.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        publisher = Publisher(
            catalog=self.addressing, read_lineage=self.read_lineage, commit_mode=self.commit_mode
        )

        def write() -> None:
            rows.createOrReplaceTempView(_SOURCE_VIEW)
            try:
                properties = table_properties(table, self.properties)
                query = f"SELECT * FROM {quote_name(_SOURCE_VIEW)}"
                spark.sql(replace_statement(self.sql_name(table.name), table, properties, query))
            finally:
                spark.catalog.dropTempView(_SOURCE_VIEW)

        return publisher.recreate(table.name, mark, write, spark=spark)

    def merge(
        self,
        table: Table,
        source: DataFrame,
        statement: MergeStatement,
        mark: LoadMark,
        *,
        spark: SparkSession,
    ) -> AppliedJob:
        """Merge a source into a table that is there; columns that it lacks are added before."""
        known = replace(statement, target_columns=frozenset((*statement.target_columns, *statement.columns)))

        def write(target: str) -> None:
            self._align_rows(table.name, source, spark).createOrReplaceTempView(_SOURCE_VIEW)
            try:
                spark.sql(known.sql(target=target, source=quote_name(_SOURCE_VIEW)))
            finally:
                spark.catalog.dropTempView(_SOURCE_VIEW)

        return self._commit(table, source, mark, write, columns=statement.columns, spark=spark)

    def truncate(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""
        retry_on_conflict(table, lambda: spark.sql(f"DELETE FROM {self.sql_name(table)}"))

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Take a table away with all its rows, if it is there."""
        spark.sql(f"DROP TABLE IF EXISTS {self.sql_name(table)} PURGE")

    def drop_all(self, *, spark: SparkSession) -> None:
        """Take the dataset away with all its tables; a catalog drops no schema that has some."""
        name = quote_name(self.addressing.catalog, self.addressing.dataset)
        if spark.catalog.databaseExists(name):
            for row in spark.sql(f"SHOW TABLES IN {name}").collect():
                self.drop(row["tableName"], spark=spark)
            spark.sql(f"DROP SCHEMA IF EXISTS {name}")

    def undo(self, applied: AppliedJob, load_id: str, *, spark: SparkSession) -> None:
        """Bring a table back to the version before a job, unless it has moved on since."""
        self._undo.undo(applied, load_id, spark=spark)

    def to_undo(self, table: str, mark: LoadMark, *, spark: SparkSession) -> AppliedJob | None:
        """What a load did to a table; None where it did nothing, or nothing of it is left."""
        if not self.exists(table, spark=spark):
            return None
        return self._undo.find_applied(table, mark, spark=spark)

    def verify(self, applied: AppliedJob, mark: LoadMark, *, spark: SparkSession) -> None:
        """Raise unless readers of a table see what a job of a load wrote.

        Where snapshots were expired in the middle of what readers see, the result of the job is the evidence.
        """
        seen = (
            self.read_lineage(applied.table, spark=spark) if self.exists(applied.table, spark=spark) else None
        )
        is_seen = seen is not None and (seen.has_commit(mark) or seen.is_truncated)
        if seen is None or not is_seen or seen.is_undone(mark.load_id):
            raise CommitRolledBack(table=applied.table, load_id=mark.load_id, version=applied.version_after)

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Keep an aborted load from being published, if the table exists."""
        if not self.exists(table, spark=spark):
            return
        nothing = spark.createDataFrame([], self.read(table, spark=spark).schema)
        publisher = Publisher(
            catalog=self.addressing, read_lineage=self.read_lineage, commit_mode=self.commit_mode
        )
        publisher.fence(table, mark, lambda target: nothing.writeTo(target).append(), spark=spark)

    @property
    def _undo(self) -> LoadUndo:
        return LoadUndo(
            catalog=self.addressing,
            read_lineage=self.read_lineage,
            roll_back=self._roll_back,
            restore=self._restore,
        )

    def _roll_back(self, table: str, version: int, *, spark: SparkSession) -> int:
        call = self.addressing.call_statement("rollback_to_snapshot", table, snapshot_id=str(version))
        left: int = spark.sql(call).collect()[0]["previous_snapshot_id"]
        return left

    def _restore(self, table: str, version: int, *, spark: SparkSession) -> None:
        """Write the rows and columns of an older snapshot in the place of the table."""
        known = self.previous_tables().get(table)
        properties = table_properties(known, self.properties) if known else {}
        query = f"SELECT * FROM {self.sql_name(table)} VERSION AS OF {version}"
        spark.sql(replace_statement(self.sql_name(table), known, properties, query))

    def _commit(
        self,
        table: Table,
        rows: DataFrame,
        mark: LoadMark,
        write: Callable[[str], None],
        *,
        spark: SparkSession,
        columns: Iterable[str] | None = None,
    ) -> AppliedJob:
        names = tuple(rows.columns if columns is None else columns)
        publisher = Publisher(
            catalog=self.addressing, read_lineage=self.read_lineage, commit_mode=self.commit_mode
        )
        return publisher.commit(
            table.name,
            mark,
            write,
            prepare=lambda: self._prepare_table(table, rows, names, spark),
            spark=spark,
        )

    def _align_rows(self, table: str, rows: DataFrame, spark: SparkSession) -> DataFrame:
        if not any(isinstance(field.dataType, _NESTED_TYPES) for field in rows.schema):
            return rows
        return align_structs(rows, self.read(table, spark=spark).schema)

    def _prepare_table(
        self, table: Table, rows: DataFrame, columns: Iterable[str], spark: SparkSession
    ) -> None:
        """Make the table if it is not there, and add the columns that it lacks: they are null until then."""
        name = self.sql_name(table.name)
        if not self.exists(table.name, spark=spark):
            properties = table_properties(table, self.properties)
            spark.sql(create_statement(name, table, properties))
        has = self.read(table.name, spark=spark).schema.jsonValue()
        lacks = missing_fields(has, rows.select(*map(quote_name, columns)).schema.jsonValue())
        if lacks:
            spark.sql(add_columns_statement(name, lacks))


def _parse_lineage(rows: Iterable[Any]) -> Lineage:
    snapshots, refs, settled = {}, {}, set()
    for row in rows:
        if row["name"] is not None:
            refs[row["name"]] = row["snapshot_id"]
            settled |= {row["name"]} if row["age"] is not None else set()
        else:
            snapshots[row["snapshot_id"]] = IcebergSnapshot(
                id=row["snapshot_id"],
                parent=row["parent_id"],
                operation=row["operation"],
                summary=row["summary"] or {},
            )
    return Lineage(snapshots=snapshots, refs=refs, expiring_refs=frozenset(settled))
