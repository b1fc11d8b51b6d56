"""Writes Delta tables: one atomic commit for each table, marked with the load's sequence number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from penstock.errors import CommitLost, DestinationAhead, UsageError
from penstock.interfaces import AppliedJob
from penstock.package.ledger import FileLedger
from penstock.package.sql import quoted
from penstock.package.storage import FileStorage
from penstock.spark.paths import spark_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from penstock.destinations.delta.settings import DeltaSettings
    from penstock.interfaces import LoadMark, TableJob

_LAST_COMMIT = "spark.databricks.delta.lastCommitVersionInSession"
_PACKAGES = "_dlt_pkg"
# How far back a commit of the load that is being resumed may stand.
_HISTORY = 50


class DeltaClient:
    """A Delta lake opened for one dataset."""

    def __init__(self, settings: DeltaSettings, *, dataset_name: str) -> None:
        self._root = f"{settings.bucket_url.rstrip('/')}/{dataset_name}"
        self._shown, self._dataset_name = settings.describe().rstrip("/"), dataset_name
        self._store = FileStorage(self._root)

    def ledger(self) -> FileLedger:
        """The ledger in dlt's file form, beside the tables."""
        return FileLedger(self._store)

    def package_root(self, pipeline_name: str) -> str:
        """Packages stand next to the data, where executors reach them."""
        return f"{self._root}/{_PACKAGES}/{pipeline_name}"

    def location(self, table: str | None = None) -> str:
        """The address of the dataset, or of one table of it."""
        return self._root if table is None else f"{self._root}/{table}"

    def describe(self) -> str:
        """The address of the dataset as people may see it: without credentials."""
        return f"{self._shown}/{self._dataset_name}"

    def remove(self) -> None:
        """Delete the dataset with all its tables and packages."""
        self._store.delete("")

    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here."""
        names = (name for name in self._store.names("") if not name.startswith("_"))
        return tuple(name for name in names if self._store.exists(f"{name}/_delta_log"))

    def read(self, table: str, *, spark: SparkSession) -> DataFrame:
        """A frame over a table in the given session."""
        return spark.read.format("delta").load(spark_path(self.location(table)))

    def apply(self, job: TableJob, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Append once.

        Delta skips a write whose transaction it has; whether it did is read from the session.
        """
        if job.write_disposition != "append":
            raise UsageError(
                f"{job.table} asks for {job.write_disposition!r}, which the delta destination cannot do yet",
                hint="use write_disposition='append'",
            )
        spark.conf.unset(_LAST_COMMIT)
        (
            job.frame(spark)
            .write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")
            .option("txnAppId", f"penstock/{mark.pipeline_name}")
            .option("txnVersion", str(mark.sequence))
            .option("userMetadata", _metadata(mark))
            .save(spark_path(self.location(job.table)))
        )
        version = spark.conf.get(_LAST_COMMIT, None)
        commit = self._find_commit(job.table, mark, version=version, spark=spark)
        rows = (commit["operationMetrics"] or {}).get("numOutputRows")
        after = int(commit["version"])
        return AppliedJob(
            table=job.table,
            rows=int(rows) if rows is not None else None,
            version_before=after - 1 if after else None,
            version_after=after,
            skipped=version is None,
        )

    def _find_commit(self, table: str, mark: LoadMark, *, version: str | None, spark: SparkSession) -> Row:
        """The commit of this load in the table's history.

        Nothing counts as written until it is seen there.
        """
        path = quoted("delta", spark_path(self.location(table)))
        history = spark.sql(f"DESCRIBE HISTORY {path} LIMIT {1 if version is not None else _HISTORY}")
        for commit in history.select("version", "operationMetrics", "userMetadata").collect():
            if commit["userMetadata"] == _metadata(mark):
                return commit
        if version is None:
            raise DestinationAhead(table=table, sequence=mark.sequence)
        raise CommitLost(table=table, sequence=mark.sequence)


def _metadata(mark: LoadMark) -> str:
    return json.dumps({"load_id": mark.load_id, "sequence": mark.sequence, "manifest": mark.manifest_hash})
