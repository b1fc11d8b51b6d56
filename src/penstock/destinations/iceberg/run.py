"""Commits to Iceberg tables: each is atomic, marked with its load, and made once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from penstock.destinations.iceberg.conflicts import CommittedMeanwhile, persistent
from penstock.destinations.iceberg.define import (
    column_statement,
    create_statement,
    missing_fields,
    replace_statement,
    table_properties,
)
from penstock.destinations.iceberg.fit import fitted
from penstock.destinations.iceberg.lineage import Lineage, Snapshot
from penstock.destinations.iceberg.marks import COUNTS, PREFIX
from penstock.destinations.iceberg.place import IcebergCatalog
from penstock.destinations.iceberg.publish import Publisher
from penstock.destinations.iceberg.undo import Undo
from penstock.destinations.lake.placed import PlacedTables
from penstock.errors import CommitRolledBack
from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.iceberg.settings import Way
    from penstock.destinations.lake.statement import Merge
    from penstock.interfaces import AppliedJob, LoadMark, TableCommit
    from penstock.schema import Table

_SOURCE: Final = "penstock_merge_source"
_NESTED: Final = (ArrayType, MapType, StructType)
_LOOKS: Final = 3
# Tables that live long have many snapshots, and each says much that nobody here asks for.
_SHOWN: Final = (
    f"map_filter(summary, (name, value) -> startswith(name, {literal(PREFIX)}) "
    f"OR name IN ({', '.join(map(literal, COUNTS))}))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTables(PlacedTables[IcebergCatalog]):
    """The tables of one dataset."""

    way: Way = "branch"
    """How commits are made."""
    before: Callable[[], Mapping[str, Table]] = dict
    """The tables as the last complete load left them: a table that is taken back gets their partitions."""

    @property
    def merges_from_itself(self) -> bool:
        """A source goes by the name of a view, and Spark 4.1 finds no plan for tables of a catalog in one."""
        return False

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        return self.place.read(table, version, spark=spark)

    def look(self, table: str, *, spark: SparkSession) -> Lineage:
        """All snapshots of a table and the names that some of them have, in one job."""
        for _ in range(_LOOKS):
            found = _lineage(spark.sql(self.place.look(table, _SHOWN)).collect())
            if not found.is_torn:
                return found
        raise CommittedMeanwhile(f"{table} changes faster than it can be looked at")

    def version(self, table: str, *, spark: SparkSession) -> int | None:
        """The snapshot that readers see; None before the first."""
        return self.look(table, spark=spark).head

    def properties_of(self, table: str, *, spark: SparkSession) -> dict[str, str]:
        """The properties that a table has."""
        told = spark.sql(f"SHOW TBLPROPERTIES {self.sql_name(table)}").collect()
        return {row["key"]: row["value"] for row in told}

    def commits(self, table: str, most: int | None, *, spark: SparkSession) -> tuple[TableCommit, ...]:
        """The commits, newest first, and the loads that made them."""
        return self.look(table, spark=spark).commits()[:most]

    def append(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append once; a table that is not there is made as its hints say."""
        return self._commit(
            table,
            rows,
            mark,
            lambda target: self._fitted(table.name, rows, spark).writeTo(target).append(),
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
            lambda target: self._fitted(table.name, rows, spark).writeTo(target).overwrite(everything),
            spark=spark,
        )

    def renew(self, table: Table, rows: DataFrame, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Put these rows and their columns in the place of all that is there, in one commit.

        Readers of earlier snapshots see what was there.
        """
        if not self.exists(table.name, spark=spark):
            return self.append(table, rows, mark, spark=spark)
        publisher = Publisher(place=self.place, look=self.look, way=self.way)

        def write() -> None:
            rows.createOrReplaceTempView(_SOURCE)
            try:
                properties = table_properties(table, self.properties)
                query = f"SELECT * FROM {quoted(_SOURCE)}"
                spark.sql(replace_statement(self.sql_name(table.name), table, properties, query))
            finally:
                spark.catalog.dropTempView(_SOURCE)

        return publisher.renew(table.name, mark, write, spark=spark)

    def merge(
        self, table: Table, source: DataFrame, merge: Merge, mark: LoadMark, *, spark: SparkSession
    ) -> AppliedJob:
        """Merge a source into a table that is there; columns that it lacks are added before."""
        known = replace(merge, target_columns=frozenset((*merge.target_columns, *merge.columns)))

        def write(target: str) -> None:
            self._fitted(table.name, source, spark).createOrReplaceTempView(_SOURCE)
            try:
                spark.sql(known.text(target=target, source=quoted(_SOURCE)))
            finally:
                spark.catalog.dropTempView(_SOURCE)

        return self._commit(table, source, mark, write, columns=merge.columns, spark=spark)

    def empty(self, table: str, *, spark: SparkSession) -> None:
        """Delete all rows in one commit."""
        persistent(table, lambda: spark.sql(f"DELETE FROM {self.sql_name(table)}"))

    def drop(self, table: str, *, spark: SparkSession) -> None:
        """Take a table away with all its rows, if it is there."""
        spark.sql(f"DROP TABLE IF EXISTS {self.sql_name(table)} PURGE")

    def drop_all(self, *, spark: SparkSession) -> None:
        """Take the dataset away with all its tables; a catalog drops no schema that has some."""
        name = quoted(self.place.catalog, self.place.dataset)
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
        return self._undo.find(table, mark, spark=spark)

    def verify(self, applied: AppliedJob, mark: LoadMark, *, spark: SparkSession) -> None:
        """Raise unless readers of a table see what a job of a load wrote.

        Where snapshots were expired in the middle of what readers see, the result of the job is the evidence.
        """
        seen = self.look(applied.table, spark=spark) if self.exists(applied.table, spark=spark) else None
        is_seen = seen is not None and (seen.shows(mark) or seen.is_cut)
        if seen is None or not is_seen or seen.is_undone(mark.load_id):
            raise CommitRolledBack(table=applied.table, load_id=mark.load_id, version=applied.version_after)

    def fence(self, table: str, mark: LoadMark, *, spark: SparkSession) -> None:
        """Keep an aborted load from being published, if the table exists."""
        if not self.exists(table, spark=spark):
            return
        nothing = spark.createDataFrame([], self.read(table, spark=spark).schema)
        publisher = Publisher(place=self.place, look=self.look, way=self.way)
        publisher.fence(table, mark, lambda target: nothing.writeTo(target).append(), spark=spark)

    @property
    def _undo(self) -> Undo:
        return Undo(place=self.place, look=self.look, roll_back=self._roll_back, restore=self._restore)

    def _roll_back(self, table: str, version: int, *, spark: SparkSession) -> int:
        call = self.place.call("rollback_to_snapshot", table, snapshot_id=str(version))
        left: int = spark.sql(call).collect()[0]["previous_snapshot_id"]
        return left

    def _restore(self, table: str, version: int, *, spark: SparkSession) -> None:
        """Write the rows and columns of an older snapshot in the place of the table."""
        known = self.before().get(table)
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
        publisher = Publisher(place=self.place, look=self.look, way=self.way)
        return publisher.commit(
            table.name, mark, write, ready=lambda: self._shape(table, rows, names, spark), spark=spark
        )

    def _fitted(self, table: str, rows: DataFrame, spark: SparkSession) -> DataFrame:
        if not any(isinstance(field.dataType, _NESTED) for field in rows.schema):
            return rows
        return fitted(rows, self.read(table, spark=spark).schema)

    def _shape(self, table: Table, rows: DataFrame, columns: Iterable[str], spark: SparkSession) -> None:
        """Make the table if it is not there, and add the columns that it lacks: they are null until then."""
        name = self.sql_name(table.name)
        if not self.exists(table.name, spark=spark):
            properties = table_properties(table, self.properties)
            spark.sql(create_statement(name, table, properties))
        has = self.read(table.name, spark=spark).schema.jsonValue()
        lacks = missing_fields(has, rows.select(*map(quoted, columns)).schema.jsonValue())
        if lacks:
            spark.sql(column_statement(name, lacks))


def _lineage(rows: Iterable[Any]) -> Lineage:
    snapshots, refs, settled = {}, {}, set()
    for row in rows:
        if row["name"] is not None:
            refs[row["name"]] = row["snapshot_id"]
            settled |= {row["name"]} if row["age"] is not None else set()
        else:
            snapshots[row["snapshot_id"]] = Snapshot(
                id=row["snapshot_id"],
                parent=row["parent_id"],
                operation=row["operation"],
                summary=row["summary"] or {},
            )
    return Lineage(snapshots=snapshots, refs=refs, settled=frozenset(settled))
