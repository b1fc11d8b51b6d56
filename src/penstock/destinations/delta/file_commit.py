"""Commits of Parquet files to the log of a Delta table, by the library `deltalake`. No Spark here.

The files lie in the folder of the table already; the commit refers to them. It is atomic, and made once: it
has the same transaction number and metadata as a commit by Spark's writer, and Spark and this module skip a
number that the other one has committed. Files that no commit refers to are garbage, which VACUUM deletes.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from penstock.destinations.delta.commit_gate import COMMIT_GATE
from penstock.destinations.delta.conflicts import VersionExists, retry_on_conflict
from penstock.destinations.delta.file_commit_plan import find_obstacle, library_address
from penstock.destinations.delta.file_stats import DataFile, describe_file
from penstock.destinations.delta.history import app_id
from penstock.package.trust import known_trust
from penstock.spark.s3 import s3_bucket

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.destinations.delta.delta_log import DeltaLog, Snapshot
    from penstock.destinations.delta.file_commit_plan import WriteMode
    from penstock.destinations.lake.flat_files import JobFiles
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.package.storage import FileStorage

_FOOTER_READERS: Final = 8
_NO_COLUMNS: Final = '{"type": "struct", "fields": []}'


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why files are not committed by reference: Spark's writer has to write the rows."""

    reason: str
    has_transaction: bool = False
    """Whether the table has this transaction number or a later one."""


def commit_files(
    store: FileStorage,
    table: str,
    files: Callable[[], Sequence[DataFile]],
    *,
    schema_json: str,
    mark: LoadMark,
    mode: WriteMode,
) -> AppliedJob | Obstacle:
    """Append Parquet files to a table, or replace its rows by them, in one commit without Spark.

    `store` is the folder of the dataset, `table` the name of the table's folder in it. `schema_json` are the
    columns of the files as Spark writes a schema (`frame.schema.json()`); a table that does not exist is
    created with them.

    `files` is called at most once, and only if the table can take the commit and does not have the load yet:
    it puts complete files into the folder of the table, in a new subfolder whose name does not begin with
    `_` or `.`, and returns them: `read_data_files` describes what a subfolder has. Conflicts with other
    writers are retried with the same files.

    An `Obstacle` means that nothing is committed: because of the table or its storage, because `deltalake` is
    not installed, because Spark is writing to the table in this process, or because the table has this
    transaction number or a later one. Spark's writer then writes the rows, or finds out what became of the
    load.
    """
    log = _find_log(store, table)
    if isinstance(log, Obstacle):
        return log
    with TemporaryDirectory(prefix="penstock-delta-log-") as copies:
        return _commit(log, files, json.loads(schema_json), mark, mode, Path(copies))


def _copies_log(store: FileStorage) -> bool:
    """Return whether `deltalake` always reads a copy of the log: in a store it would take many requests."""
    return not store.is_local


def _load_snapshot(log: DeltaLog, schema: Mapping[str, Any], mark: LoadMark, copies: Path) -> Snapshot | None:
    """Return the newest version of a table, from a copy of its log for a commit that adds columns."""
    if _copies_log(log.store):
        return log.load(app_id(mark), copies)
    snapshot = log.load(app_id(mark))
    return log.load(app_id(mark), copies) if snapshot and snapshot.adds_columns(schema) else snapshot


def _commit(
    log: DeltaLog,
    files: Callable[[], Sequence[DataFile]],
    schema: Mapping[str, Any],
    mark: LoadMark,
    mode: WriteMode,
    copies: Path,
) -> AppliedJob | Obstacle:
    prepared: list[Sequence[DataFile]] = []

    def attempt() -> tuple[int, Snapshot] | Obstacle:
        snapshot = _load_snapshot(log, schema, mark, copies)
        if snapshot is None:
            return Obstacle("deltalake cannot open the table")
        if snapshot.mirror is None and snapshot.adds_columns(schema):
            return Obstacle("the log cannot be copied, and rows have new columns")
        if reason := find_obstacle(snapshot.facts, schema, mode):
            return Obstacle(reason)
        if snapshot.transaction >= mark.sequence:
            reason = f"the table has transaction {snapshot.transaction} of {app_id(mark)}"
            return Obstacle(reason, has_transaction=True)
        if not prepared:
            prepared.append(files())
        with COMMIT_GATE.reference(log.store.path(log.name)) as is_open:
            if not is_open:
                return Obstacle("Spark is writing to the table in this process")
            return log.commit(snapshot, prepared[0], schema, mark, mode), snapshot

    commit = retry_on_conflict(log.name, attempt)
    if isinstance(commit, Obstacle):
        return commit
    version, snapshot = commit
    applied = log.applied_job(version, mark, snapshot)
    log.checkpoint(snapshot)
    return applied


def commit_job_files(
    store: FileStorage, table: str, files: JobFiles | None, mark: LoadMark, *, replaces_rows: bool
) -> AppliedJob | Obstacle:
    """Append the rows of a job to a table, or replace all rows by them, in one commit without Spark.

    Without files all rows are deleted.
    """

    def copy_files() -> Sequence[DataFile]:
        if files is None:
            return ()
        copies = [
            describe_file(file.path, file.size, file.footer, file.schema)
            for file in files.copy_to(store, table)
        ]
        return [file for file in copies if file.rows]

    return commit_files(
        store,
        table,
        copy_files,
        schema_json=_NO_COLUMNS if files is None else files.schema_json,
        mark=mark,
        mode="overwrite" if replaces_rows else "append",
    )


def commit_restore(
    store: FileStorage, table: str, version: int, newest: int, mark: LoadMark
) -> AppliedJob | Obstacle:
    """Restore a version of a table by a commit after the `newest` one, without Spark.

    Raise `VersionExists` if the table has a later commit. An `Obstacle` means that nothing is committed.
    """
    log = _find_log(store, table)
    if isinstance(log, Obstacle):
        return log
    snapshot = _load_for_restore(log, app_id(mark))
    if isinstance(snapshot, Obstacle):
        return snapshot
    if snapshot.version != newest:
        raise VersionExists(f"version {snapshot.version} of {table} exists")
    with COMMIT_GATE.reference(store.path(table)) as is_open:
        if not is_open:
            return Obstacle("Spark is writing to the table in this process")
        return log.applied_job(log.restore(snapshot, version, mark), mark, snapshot)


def find_missing_files(store: FileStorage, table: str, version: int) -> frozenset[str] | Obstacle | None:
    """Return the files that the restore of a version needs and that do not exist; None if it is gone.

    An `Obstacle` if only Spark can read the table.
    """
    log = _find_log(store, table)
    if isinstance(log, Obstacle):
        return log
    snapshot = _load_for_restore(log, "")
    if isinstance(snapshot, Obstacle):
        return snapshot
    needed = log.files_to_restore(snapshot, version)
    return needed and needed - frozenset(name.removeprefix(f"{table}/") for name in store.tree(table))


def _load_for_restore(log: DeltaLog, app: str) -> Snapshot | Obstacle:
    """Return the newest version of a table that may be restored without Spark."""
    snapshot = log.load(app)
    if snapshot is None or snapshot.facts is None:
        return Obstacle("deltalake cannot open the table")
    reason = find_obstacle(snapshot.facts, json.loads(_NO_COLUMNS), "overwrite")
    return Obstacle(reason) if reason else snapshot


def read_data_files(store: FileStorage, table: str, folder: str, *, schema_json: str) -> tuple[DataFile, ...]:
    """Return the Parquet files in a subfolder of a table's folder, with statistics from their footers.

    Files without rows are left out. Raise if a file does not have the columns of the schema.
    """
    schema = json.loads(schema_json)
    names = [
        entry.name
        for entry in store.entries(f"{table}/{folder}")
        if not entry.is_folder and entry.name.endswith(".parquet") and not entry.name.startswith((".", "_"))
    ]

    def read(name: str) -> DataFile:
        with store.open(f"{table}/{folder}/{name}") as stream:
            footer = pq.read_metadata(stream)
            return describe_file(f"{folder}/{name}", stream.seek(0, 2), footer, schema)

    if len(names) <= 1:
        files = [read(name) for name in names]
    else:
        with ThreadPoolExecutor(min(_FOOTER_READERS, len(names))) as pool:
            files = list(pool.map(read, names))
    return tuple(file for file in files if file.rows)


def _find_log(store: FileStorage, name: str) -> DeltaLog | Obstacle:
    """Return the log of a table; an obstacle if commits to its storage would not be safe."""
    try:
        from penstock.destinations.delta import delta_log  # noqa: PLC0415 - deltalake is an extra
    except ImportError:
        return Obstacle("deltalake is not installed")
    address = library_address(store.path(name))
    if address is None:
        return Obstacle("deltalake does not open this path")
    if store.is_local:
        return delta_log.DeltaLog(store=store, name=name, uri=address, options={})
    if s3_bucket(store.root) is None:
        return Obstacle("deltalake has no credentials for this storage")
    options = store.object_store_options
    if options is None:
        return Obstacle("the settings have no keys for the bucket")
    trust = known_trust(store)
    if not trust.trusted:
        return Obstacle(trust.reason)
    return delta_log.DeltaLog(store=store, name=name, uri=address, options=options)
