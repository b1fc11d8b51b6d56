"""The log of a Delta table by path, as the library `deltalake` reads it and commits to it. No Spark here.

Only `file_commit` imports this module, when it needs it: the library is an extra, and takes time to import.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, create_table_with_add_actions

from penstock.config import logger
from penstock.destinations.delta.conflicts import VersionExists
from penstock.destinations.delta.file_commit_plan import (
    TableFacts,
    indexed_columns,
    is_safe_file,
    nullable_schema,
)
from penstock.destinations.delta.file_stats import stats_json
from penstock.destinations.delta.history import app_id, applied_job, load_metadata
from penstock.errors import CommitLost, InternalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.destinations.delta.file_commit_plan import WriteMode
    from penstock.destinations.delta.file_stats import DataFile, Path
    from penstock.interfaces import AppliedJob, LoadMark
    from penstock.package.storage import FileStorage

# Spark writes a checkpoint after so many commits; deltalake would wait for ten times as many.
_CHECKPOINT_INTERVAL: Final = 10
_CHECKPOINT_PROPERTY: Final = "delta.checkpointInterval"
_log = logger("penstock.delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The newest version of a table; without a table, the version before its first."""

    version: int = -1
    facts: TableFacts | None = None
    transaction: int = -1
    """The newest transaction of the pipeline."""
    table: DeltaTable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaLog:
    """The log of one table, as `deltalake` opens it."""

    store: FileStorage
    name: str
    uri: str
    options: dict[str, str] = field(repr=False)

    def load(self, app: str) -> Snapshot | None:
        """Return the newest version; None if `deltalake` cannot open the table."""
        try:
            return _snapshot(DeltaTable(self.uri, storage_options=self.options), app)
        except TableNotFoundError:
            return Snapshot()
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
        properties = _commit_properties(files, mark, mode)
        try:
            if snapshot.table is None or snapshot.facts is None:
                self._create(files, nullable_schema(schema), properties)
            else:
                indexed = indexed_columns(snapshot.facts.schema, snapshot.facts.properties)
                snapshot.table.create_write_transaction(
                    [*_add_actions(files, indexed)],
                    mode,
                    _delta_schema(snapshot.facts.schema),
                    commit_properties=properties,
                )
        except (CommitFailedError, DeltaError) as error:
            if self._exists(snapshot.version + 1):
                raise VersionExists(f"version {snapshot.version + 1} of {self.name} exists") from error
            raise
        return snapshot.version + 1

    def checkpoint(self, version: int) -> None:
        """Write a checkpoint after every tenth commit, as Spark does; a failure is only logged."""
        if not version or version % _CHECKPOINT_INTERVAL:
            return
        try:
            table = DeltaTable(self.uri, storage_options=self.options)
            if _CHECKPOINT_PROPERTY not in table.metadata().configuration:
                table.create_checkpoint()
        except Exception as error:
            _log.info("no checkpoint of %s: %s", self.name, type(error).__name__)

    def applied_job(self, version: int, mark: LoadMark) -> AppliedJob:
        """Return the result of a commit, read from the log: another writer may have replaced it."""
        commit = self._read_commit(version)
        if commit.get("userMetadata") != load_metadata(mark):
            raise CommitLost(table=self.name, sequence=mark.sequence)
        # Only the first version decides whether there is one to return to.
        earlier = [self._read_commit(0)] if version == 1 else []
        return applied_job(self.name, [commit, *earlier])

    def _create(
        self, files: Sequence[DataFile], schema: Mapping[str, Any], properties: CommitProperties
    ) -> None:
        create_table_with_add_actions(
            self.uri,
            _delta_schema(schema),
            _add_actions(files, indexed_columns(schema, {})),
            mode="error",
            storage_options=self.options,
            commit_properties=properties,
        )

    def _exists(self, version: int) -> bool:
        return self.store.exists(self._commit_name(version))

    def _commit_name(self, version: int) -> str:
        return f"{self.name}/_delta_log/{version:020}.json"

    def _read_commit(self, version: int) -> dict[str, Any]:
        """Return the metadata of a commit; without content if there is none."""
        info: Mapping[str, Any] = {}
        # The first line has the metadata; the other lines have one file each.
        with suppress(FileNotFoundError), self.store.open(self._commit_name(version)) as stream:
            info = json.loads(stream.readline()).get("commitInfo") or {}
        return {"operation": None, "operationMetrics": None, "userMetadata": None, **info, "version": version}


def _snapshot(table: DeltaTable, app: str) -> Snapshot:
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
    )


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
        app_transactions=[Transaction(app_id(mark), mark.sequence, int(time.time() * 1000))],
    )


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
