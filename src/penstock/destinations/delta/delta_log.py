"""The log of a Delta table by path, as the library `deltalake` reads it and commits to it. No Spark here.

Only `file_commit` imports this module, when it needs it: the library is an extra, and takes time to import.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, create_table_with_add_actions

from penstock.config import logger
from penstock.destinations.delta.conflicts import VersionExists
from penstock.destinations.delta.file_commit_plan import (
    TableFacts,
    indexed_columns,
    is_safe_file,
    nullable_schema,
    with_added_columns,
)
from penstock.destinations.delta.file_stats import stats_json
from penstock.destinations.delta.history import app_id, applied_job, load_metadata
from penstock.destinations.delta.log_commits import LOG_FOLDER, commit_facts, commit_name, read_commit
from penstock.destinations.delta.log_mirror import LogMirror, copy_log
from penstock.errors import CommitLost, InternalError

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping, Sequence

    from penstock.destinations.delta.file_commit_plan import WriteMode
    from penstock.destinations.delta.file_stats import DataFile, Path
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.package.storage import FileStorage

# Spark writes a checkpoint after so many commits; deltalake would wait for ten times as many.
_CHECKPOINT_INTERVAL: Final = 10
_CHECKPOINT_PROPERTY: Final = "delta.checkpointInterval"
# Nothing but the commit: checkpoints follow once it is verified, and old commits are for VACUUM.
_NO_HOOKS: Final = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The newest version of a table; without a table, the version before its first."""

    version: int = -1
    facts: TableFacts | None = None
    transaction: int = -1
    """The newest transaction of the pipeline."""
    table: DeltaTable | None = None
    mirror: LogMirror | None = None
    """The copy of the log that the table is read from; None if it is read where it is."""

    def adds_columns(self, schema: Mapping[str, Any]) -> bool:
        """Return whether rows have columns that the table lacks."""
        return (
            self.facts is not None and with_added_columns(self.facts.schema, schema) is not self.facts.schema
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaLog:
    """The log of one table, as `deltalake` opens it."""

    store: FileStorage
    name: str
    uri: str
    options: dict[str, str] = field(repr=False)

    def load(self, app: str, copies: pathlib.Path | None = None) -> Snapshot | None:
        """Return the newest version; None if `deltalake` cannot open the table.

        With a folder for `copies`, `deltalake` reads a copy of the log.
        """
        mirror = copy_log(self.store, self.name, copies / uuid.uuid4().hex) if copies else None
        try:
            return _snapshot(self._open(mirror), app, mirror)
        except TableNotFoundError:
            return Snapshot(mirror=mirror)
        except Exception as error:
            # Such as a feature or a type that the library does not know. Nothing is written yet.
            _log.debug("deltalake cannot open %s: %s", self.name, type(error).__name__)
            return None

    def commit(
        self,
        snapshot: Snapshot,
        files: Sequence[DataFile],
        schema: Mapping[str, Any],
        mark: LoadMark,
        mode: WriteMode,
    ) -> int:
        """Commit files as the version after a snapshot, and return its number; raise on a conflict."""
        version, properties = snapshot.version + 1, _commit_properties(files, mark, mode)
        try:
            if snapshot.table is None or snapshot.facts is None:
                self._create(files, nullable_schema(schema), properties, snapshot.mirror)
            else:
                columns = with_added_columns(snapshot.facts.schema, schema)
                indexed = indexed_columns(columns, snapshot.facts.properties)
                snapshot.table.create_write_transaction(
                    [*_add_actions(files, indexed)],
                    mode,
                    _delta_schema(snapshot.facts.schema),
                    commit_properties=properties,
                    post_commithook_properties=_NO_HOOKS,
                )
        except (CommitFailedError, DeltaError) as error:
            if snapshot.mirror is None and self._exists(version):
                raise VersionExists(f"version {version} of {self.name} exists") from error
            raise
        if snapshot.mirror is not None:
            content = snapshot.mirror.commit_content(version).rstrip() + _column_changes(snapshot, schema)
            if not self.store.put_if_absent(self._commit_path(version), content):
                raise VersionExists(f"version {version} of {self.name} exists")
        return version

    def restore(self, snapshot: Snapshot, version: int, mark: LoadMark) -> int:
        """Commit the content of an earlier version as the version after a snapshot, and return its number."""
        if snapshot.table is None:
            raise InternalError(f"{self.name} has no version to restore")
        try:
            snapshot.table.restore(
                version,
                commit_properties=CommitProperties(
                    custom_metadata={"userMetadata": load_metadata(mark)},
                    max_commit_retries=0,
                    app_transactions=[_transaction(mark)],
                ),
                post_commithook_properties=_NO_HOOKS,
            )
        except (CommitFailedError, DeltaError) as error:
            if self._exists(snapshot.version + 1):
                raise VersionExists(f"version {snapshot.version + 1} of {self.name} exists") from error
            raise
        return snapshot.version + 1

    def files_to_restore(self, snapshot: Snapshot, version: int) -> frozenset[str] | None:
        """Return the files that only an earlier version has, and not a snapshot; None if it is gone."""
        try:
            earlier = self._open(None, version)
        except Exception as error:  # the library has no class for it
            _log.debug("version %s of %s cannot be opened: %s", version, self.name, type(error).__name__)
            return None
        return _file_names(earlier) - (_file_names(snapshot.table) if snapshot.table else frozenset())

    def checkpoint(self, snapshot: Snapshot) -> None:
        """Write a checkpoint of the version before a commit if it is a tenth one; a failure is only logged.

        A checkpoint of the commit itself would preserve its content if Spark overwrote it.
        """
        version = snapshot.version
        if version <= 0 or version % _CHECKPOINT_INTERVAL:
            return
        try:
            table = self._open(snapshot.mirror, version)
            if _CHECKPOINT_PROPERTY not in table.metadata().configuration:
                table.create_checkpoint()
                if snapshot.mirror is not None:
                    snapshot.mirror.put_checkpoint(version)
        except Exception as error:
            _log.info("no checkpoint of %s: %s", self.name, type(error).__name__)

    def applied_job(self, version: int, mark: LoadMark, snapshot: Snapshot) -> AppliedJob:
        """Return the result of a commit, read from the log: another writer may have replaced it."""
        commit = read_commit(self.store, self.name, version)
        if commit is None or commit["userMetadata"] != load_metadata(mark):
            raise CommitLost(table=self.name, sequence=mark.sequence)
        # Only the first version decides whether there is one to return to.
        earlier = [self._first_commit(snapshot.mirror)] if version == 1 else []
        return applied_job(self.name, [commit, *earlier])

    def _open(self, mirror: LogMirror | None, version: int | None = None) -> DeltaTable:
        if mirror is None:
            return DeltaTable(self.uri, version, storage_options=self.options)
        return DeltaTable(str(mirror.folder), version)

    def _create(
        self,
        files: Sequence[DataFile],
        schema: Mapping[str, Any],
        properties: CommitProperties,
        mirror: LogMirror | None,
    ) -> None:
        create_table_with_add_actions(
            self.uri if mirror is None else str(mirror.folder),
            _delta_schema(schema),
            _add_actions(files, indexed_columns(schema, {})),
            mode="error",
            storage_options=self.options if mirror is None else {},
            commit_properties=properties,
        )

    def _exists(self, version: int) -> bool:
        return self.store.has_file(self._commit_path(version))

    def _commit_path(self, version: int) -> str:
        return f"{self.name}/{LOG_FOLDER}/{commit_name(version)}"

    def _first_commit(self, mirror: LogMirror | None) -> dict[str, Any]:
        if mirror is not None and mirror.has_commit(0):
            return commit_facts(0, mirror.read_commit(0))
        return read_commit(self.store, self.name, 0) or commit_facts(0, b"")


def _snapshot(table: DeltaTable, app: str, mirror: LogMirror | None) -> Snapshot:
    """Return the facts about a table, and the newest transaction of an application."""
    protocol, metadata, transaction = table.protocol(), table.metadata(), table.transaction_version(app)
    features = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    return Snapshot(
        version=table.version(),
        facts=TableFacts(
            protocol=(protocol.min_reader_version, protocol.min_writer_version),
            features=frozenset(features),
            properties=dict(metadata.configuration),
            partition_columns=tuple(metadata.partition_columns),
            schema=json.loads(table.schema().to_json()),
        ),
        transaction=-1 if transaction is None else transaction,
        table=table,
        mirror=mirror,
    )


def _column_changes(snapshot: Snapshot, schema: Mapping[str, Any]) -> bytes:
    """Return the action of a commit that adds columns to a table, on a line; empty if there are none.

    The library makes none for appended files.
    """
    if snapshot.table is None or snapshot.facts is None or not snapshot.adds_columns(schema):
        return b""
    metadata, facts = snapshot.table.metadata(), snapshot.facts
    action = {
        "id": str(metadata.id),
        "name": metadata.name,
        "description": metadata.description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(with_added_columns(facts.schema, schema)),
        "partitionColumns": [],
        "configuration": dict(facts.properties),
        "createdTime": metadata.created_time,
    }
    return b"\n" + json.dumps({"metaData": action}, separators=(",", ":")).encode()


def _commit_properties(files: Sequence[DataFile], mark: LoadMark, mode: WriteMode) -> CommitProperties:
    """Return the properties of a commit, under the names that Spark's history has."""
    metrics = {
        "numFiles": len(files),
        "numOutputRows": sum(file.rows for file in files),
        "numOutputBytes": sum(file.size for file in files),
    }
    return CommitProperties(
        custom_metadata={
            "userMetadata": load_metadata(mark),
            "operationMetrics": {name: str(value) for name, value in metrics.items()},
            # Merges of other writers do not conflict with such a commit.
            "isBlindAppend": mode == "append",
        },
        # A conflict is decided here: the table may have another schema, or the load itself.
        max_commit_retries=0,
        app_transactions=[_transaction(mark)],
    )


def _transaction(mark: LoadMark) -> Transaction:
    return Transaction(app_id(mark), mark.sequence, int(time.time() * 1000))


def _file_names(table: DeltaTable) -> frozenset[str]:
    """Return the files of a version, by their paths in the folder of the table."""
    return frozenset(pa.table(table.get_add_actions(flatten=True))["path"].to_pylist())


def _add_actions(files: Sequence[DataFile], indexed: Sequence[Path]) -> list[AddAction]:
    for file in files:
        if not is_safe_file(file.path):
            raise InternalError(f"a table cannot have a file with the name {file.path}")
    now = int(time.time() * 1000)
    return [
        AddAction(
            path=file.path,
            size=file.size,
            partition_values={},
            modification_time=now,
            data_change=True,
            stats=stats_json(file, indexed),
        )
        for file in files
    ]


def _delta_schema(schema: Mapping[str, Any]) -> Schema:
    return Schema.from_json(json.dumps(schema))
