"""Commits of small files to Iceberg tables by Iceberg's own library, without a Spark job.

The driver writes the rows of a job to one Parquet file where the table has its data, and one commit makes it
part of the table: it moves `main`, creates the branch that retains the mark of the load and the version
before it, and drops the branches of earlier loads. The catalog refuses it if the table was changed since its
history was read, so of two attempts only one succeeds. A file that no commit refers to is garbage, which
`remove_orphan_files` deletes.
"""

from __future__ import annotations

import io
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException

from penstock.destinations.iceberg.conflicts import is_branch_unsupported, retry_on_conflict
from penstock.destinations.iceberg.file_commit_plan import (
    codec,
    current_fields,
    find_obstacle,
    with_field_ids,
)
from penstock.destinations.iceberg.history import branch_name, load_properties, parse_metadata, parse_snapshot
from penstock.destinations.lake.flat_files import parse_columns
from penstock.package.storage import FileStorage
from penstock.spark.iceberg_library import BranchHead

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.destinations.iceberg.settings import CommitMode
    from penstock.destinations.lake.flat_files import JobFiles
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.spark.iceberg_library import IcebergVersion

OPEN_SNAPSHOTS: Final = 2
"""The snapshots that the branch of an open load retains: its commit, and the version that readers see."""
# They pass through the driver's memory. Larger loads gain little: Spark writes them in parallel.
_MAX_BYTES: Final = 8 * 1024 * 1024
_MAX_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class NeedsSparkWriter:
    """Why rows are not committed without Spark."""

    reason: str


def read_job_rows(files: JobFiles) -> pa.Table | None:
    """Return the rows of a job; None if they are too many for the driver."""
    if (files.job.rows or 0) > _MAX_ROWS:
        return None
    package = FileStorage(files.job.package_path, credentials=files.credentials)
    sizes = [part.data.list_files(package) for part in files.job.parts]
    if sum(sum(folder.values()) for folder in sizes) > _MAX_BYTES:
        return None
    tables = []
    for part, folder in zip(files.job.parts, sizes, strict=True):
        names = [column for column, _ in parse_columns(part.columns)]
        for name in folder:
            content = package.read(f"{part.data.path}/{name}") or b""
            tables.append(pq.read_table(io.BytesIO(content), columns=names))
    if not tables:
        return None
    return pa.concat_tables(tables, promote_options="default")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCommit:
    """One commit of rows to a table; no rows are those of a replacement without any."""

    table: str
    rows: pa.Table | None
    mark: LoadMark
    replaces_rows: bool
    commit_mode: CommitMode
    open_version: Callable[[], IcebergVersion | None]
    """Opens the newest version of the table; None if only SQL reaches it. A missing one is an error."""
    create: Callable[[], None]
    """Creates the table."""
    add_columns: Callable[[IcebergVersion], bool]
    """Adds the columns that a version lacks; returns whether there were any."""
    _files: dict[int, tuple[str, ...]] = field(default_factory=dict, init=False)
    """The files that were written, by the schema of the table."""

    def make(self) -> AppliedJob | NeedsSparkWriter:
        """Make the commit unless the table has it; a conflict with another writer is retried."""
        return retry_on_conflict(self.table, self._make_once)

    def _make_once(self) -> AppliedJob | NeedsSparkWriter:
        version = self._open()
        if version is None:
            return NeedsSparkWriter("only SQL reaches the table in this session")
        history = parse_metadata(version.metadata)
        commit = history.find_commit(self.table, self.mark)
        if commit is not None:
            return history.applied_job(self.table, commit, skipped=True)
        if history.branch_head(self.mark) is not None:
            return NeedsSparkWriter("an attempt has begun a branch for the load")
        if self.add_columns(version):
            return self._make_once()
        rows = self.rows
        reason = find_obstacle(version.metadata, rows.schema if rows is not None else pa.schema([]))
        if reason is not None:
            return NeedsSparkWriter(reason)
        is_branched = self.commit_mode == "branch"
        branch = BranchHead(name=branch_name(self.mark), snapshots=OPEN_SNAPSHOTS) if is_branched else None
        try:
            snapshot = version.commit_rows(
                self._written(version),
                replaces_rows=self.replaces_rows,
                summary=load_properties(self.mark),
                branch=branch,
                dropped_branches=history.leftover_branches(self.mark),
            )
        except Exception as error:  # some Java errors are raised unchanged
            if branch is None or not is_branch_unsupported(error):
                raise
            return NeedsSparkWriter("the catalog does not support branches")
        return history.applied_job(self.table, parse_snapshot(snapshot))

    def _open(self) -> IcebergVersion | None:
        try:
            return self.open_version()
        except AnalysisException:  # it does not exist
            self.create()
            return self.open_version()

    def _written(self, version: IcebergVersion) -> tuple[str, ...]:
        """Write the file, once for each schema of the table, and return its address."""
        if self.rows is None:
            return ()
        schema_id = version.metadata["current-schema-id"]
        if schema_id not in self._files:
            content = parquet_content(self.rows, version.metadata)
            self._files[schema_id] = (version.put_file(f"{uuid.uuid4()}.parquet", content),)
        return self._files[schema_id]


def parquet_content(rows: pa.Table, metadata: Any) -> bytes:
    """Return rows as a Parquet file of a table with this metadata."""
    content = io.BytesIO()
    pq.write_table(
        with_field_ids(rows, metadata),
        content,
        compression=codec(metadata),
        store_schema=False,
        store_decimal_as_integer=True,
    )
    return content.getvalue()


def spark_struct(metadata: Any) -> dict[str, Any]:
    """Return the names of the columns of a table, in a struct as Spark writes it in JSON."""
    return {"type": "struct", "fields": [{"name": name, "type": ""} for name in current_fields(metadata)]}
