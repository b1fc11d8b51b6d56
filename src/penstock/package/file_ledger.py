"""A ledger in small files, in the layout of dlt's file destinations; each tool reads the other's."""

from __future__ import annotations

import base64
import json
from copy import copy
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.interfaces.ledger import CommitRecord, CompleteLoad, StateInfo, StorageSchemaInfo
from penstock.package.load_index import (
    IndexedLoad,
    IndexedSnapshot,
    LateLoads,
    ListedSnapshot,
    LoadIndex,
    LoadSummary,
    PipelineLoads,
    rank_of,
)
from penstock.package.remembered_files import RememberedFiles
from penstock.package.storage import FileStorage, as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.interfaces.ledger import LoadSnapshot
    from penstock.package.load_index import Rank

LOADS_TABLE, VERSION_TABLE, STATE_TABLE = "_dlt_loads", "_dlt_version", "_dlt_pipeline_state"
SYSTEM_TABLE_NAMES = (LOADS_TABLE, VERSION_TABLE, STATE_TABLE)
_INIT_FILE, _LATE_FOLDER = "init", "_dlt_late"
_ONE_MICROSECOND = timedelta(microseconds=1)
_MAX_STATES, _EPOCH_SECOND_DIGITS = 100, 10
_LAYOUT_VERSION = {"initial_version": 2, "current_version": 2}
_Row = TypeVar("_Row")


class FileLedger:
    """The ledger of a dataset that is a folder.

    A load is complete once its `_dlt_loads` file exists. Loads are ordered by id, except that a load which
    was completed after one with a greater id follows it: a file name in `_dlt_late` records that. The index
    of loads avoids listing all loads; without it they are listed.
    """

    def __init__(self, store: FileStorage) -> None:
        self._store, self._index = store, LoadIndex(store)
        self._unchanging: FileStorage | RememberedFiles = store
        self._cached_summary: LoadSummary | None = None
        self._remembered_pipeline: str | None = None
        self._newest_rows: dict[str, Any] = {}

    def with_remembered_files(self) -> Self:
        """Return the ledger for a run that holds its lease: files that never change are read once."""
        ledger = copy(self)
        ledger._unchanging = RememberedFiles(self._store)  # noqa: SLF001 - a copy of this object
        return ledger

    def with_remembered_rows(self, pipeline_name: str) -> Self:
        """Return the ledger for a run whose next seal fails if another run has sealed a load since.

        The last commit and the last state of the pipeline are looked up once, and again after a commit
        or when a load is found to be complete: nothing else changes them.
        """
        ledger = copy(self)
        ledger.__dict__.update(_remembered_pipeline=pipeline_name, _newest_rows={})
        return ledger

    def initialize(self) -> None:
        """Create the dataset unless it exists."""
        if not self._store.has_file(_INIT_FILE):
            self._store.put_if_absent(_INIT_FILE, as_json(_LAYOUT_VERSION))

    def is_initialized(self) -> bool:
        """Return whether the dataset exists."""
        return self._unchanging.has_file(_INIT_FILE)

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """Return the commit of a load; None before it is complete."""
        record = self._read_commit(schema_name=schema_name, load_id=load_id)
        if record is not None:
            # Another process may have completed it just now.
            self._newest_rows.clear()
        return record

    def _read_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        document = self._unchanging.read_json(_load_file(schema_name, load_id))
        return _commit_record(document) if document is not None else None

    def last_commit(self, pipeline_name: str) -> CommitRecord | None:
        """Return the commit of the newest complete load of a pipeline."""
        return self._newest_row("commit", pipeline_name, self._find_last_commit)

    def _find_last_commit(self, pipeline_name: str) -> CommitRecord | None:
        summary = self.summary()
        if summary is None or self._may_have_unindexed(summary, pipeline_name):
            return self._scan_last_commit(pipeline_name)
        pipeline = summary.pipelines.get(pipeline_name)
        if pipeline is None or pipeline.last is None:
            return None
        last = pipeline.last
        record = self._read_commit(schema_name=last.schema_name, load_id=last.load_id)
        return record or self._scan_last_commit(pipeline_name)

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """List all complete loads, oldest first, by the names of their files."""
        late = self.late_loads()
        return sorted(
            map(_parse_load_name, self._row_names(LOADS_TABLE)), key=lambda load: late.rank(load.load_id)
        )

    def snapshot(self) -> LoadSnapshot:
        """Return the complete loads at this moment; without an index they are listed."""
        summary = self.summary()
        if summary is None:
            return ListedSnapshot(tuple(self.complete_loads()), self)
        return IndexedSnapshot(self._with_unannounced(summary), self)

    def find_schema(self, *, schema_name: str, version_hash: str) -> StorageSchemaInfo | None:
        """Return a stored version of a schema."""
        end = f"__{_hex(version_hash)}.jsonl"
        for names in (self._newest_versions(schema_name), self._row_names(VERSION_TABLE, schema_name)):
            name = next((name for name in names if name.endswith(end)), None)
            schema = self._read_schema(name) if name else None
            if schema is not None:
                return schema
        return None

    def store_schema(self, row: StorageSchemaInfo) -> None:
        """Store a schema version. Idempotent for the newest version."""
        digest = _hex(row.version_hash)
        newest = max(self._newest_versions(row.schema_name), key=_schema_timestamp, default="")
        # Only the newest: a refreshed schema may equal a much older version.
        if newest.endswith(f"__{digest}.jsonl"):
            return
        if newest:
            # Versions are ordered by time, and the clock of this machine may be behind.
            after = datetime.fromtimestamp(_schema_timestamp(newest), UTC) + _ONE_MICROSECOND
            row = row._replace(inserted_at=max(row.inserted_at, after))
        name = f"{row.schema_name}__{row.inserted_at.timestamp():.6f}__{digest}.jsonl"
        self._store.put(f"{VERSION_TABLE}/{name}", as_json(_row_document(row._asdict())))

    def store_state(self, row: StateInfo, *, schema_hash: str) -> None:
        """Store a pipeline state, which counts once its load is committed; keep as many old ones as dlt."""
        name = f"{row.pipeline_name}__{row.load_id}__{_hex(schema_hash)}.jsonl"
        self._store.put(f"{STATE_TABLE}/{name}", as_json(_row_document(asdict(row))))
        self._delete_old_states(row.pipeline_name, keep=name)

    def commit(self, record: CommitRecord) -> bool:
        """Complete a load; return False when another process had completed it."""
        self._newest_rows.clear()
        name = _load_file(record.schema_name, record.load_id)
        if not self._store.has_file(name):
            self._announce(record)
        return self._store.put_if_absent(name, as_json(record.as_doc()))

    def last_schema(self, schema_name: str | None = None) -> StorageSchemaInfo | None:
        """Return the newest stored version of a schema, or of any schema."""
        names = self._row_names(VERSION_TABLE) if schema_name is None else self._newest_versions(schema_name)
        return self._read_schema(max(names, key=_schema_timestamp)) if names else None

    def last_state(self, pipeline_name: str) -> StateInfo | None:
        """Return the newest state of a pipeline that belongs to a complete load."""
        return self._newest_row("state", pipeline_name, self._find_last_state)

    def _newest_row(self, kind: str, pipeline_name: str, find: Callable[[str], _Row]) -> _Row:
        """Return a row of a pipeline, which may be remembered."""
        if pipeline_name != self._remembered_pipeline:
            return find(pipeline_name)
        if kind not in self._newest_rows:
            self._newest_rows[kind] = find(pipeline_name)
        row: _Row = self._newest_rows[kind]
        return row

    def _find_last_state(self, pipeline_name: str) -> StateInfo | None:
        if not self.is_initialized():
            return None
        summary = self.summary()
        if summary is None or self._may_have_unindexed(summary, pipeline_name):
            name = self._scan_last_state(pipeline_name)
            return self._read_state(name) if name else None
        pipeline = summary.pipelines.get(pipeline_name)
        indexed = pipeline.stated if pipeline else None
        # A state with a greater id than those in the index is of dlt, or of an open load.
        names = self._row_names(
            STATE_TABLE, pipeline_name, after=f"{pipeline_name}__{indexed.rank[0]}" if indexed else ""
        )
        newer = [name for name in names if indexed is None or _rank_of_state(name) > indexed.rank]
        snapshot = IndexedSnapshot(self._with_unannounced(summary), self) if newer else None
        for name in sorted(newer, key=_rank_of_state, reverse=True):
            record = snapshot.find(_load_id_of_state(name)) if snapshot else None
            if record is not None and record.status == 0:
                return self._read_state(name)
        if indexed is None:
            return None
        state = self._read_state(indexed.state or "") if self._is_complete(indexed) else None
        return state or self._read_state(self._scan_last_state(pipeline_name))

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """Return all rows of a system table, oldest first."""
        contents = (self._store.read(f"{table}/{name}") for name in self._row_names(table))
        return [json.loads(line) for content in contents if content for line in content.splitlines()]

    def _announce(self, record: CommitRecord) -> None:
        """Record in the index that a load is about to be completed, and after which load."""
        while True:
            number, summary = self._index.newest()
            if summary is None:
                summary = self._scan_summary()
            current = self._with_unannounced(summary.with_open_resolved(self._is_complete))
            current = self._with_unindexed(current, record)
            if _is_superseded(current, record):
                return
            after = current.highest if current.highest > record.load_id else None
            if after is not None:
                self._store.put(_late_file(record, after=after), b"{}")
            if self._index.append(number + 1, current.with_open_load(self._index_entry(record, after))):
                return

    def _scan_summary(self) -> LoadSummary:
        """Summarize a dataset without an index: its loads by schema, without their pipelines."""
        late, summary = self.late_loads(), LoadSummary()
        for load in self.complete_loads():
            after, number = late.positions.get(load.load_id, (None, None))
            summary = summary.with_load(IndexedLoad(**load._asdict(), after=after, sequence=number))
        return replace(summary, is_partial=bool(summary.schemas))

    def _index_entry(self, record: CommitRecord, after: str | None) -> IndexedLoad:
        pipeline = record.pipeline_name
        states = self._store.names(STATE_TABLE, prefix=f"{pipeline}__{record.load_id}__") if pipeline else []
        return IndexedLoad(
            schema_name=record.schema_name,
            load_id=record.load_id,
            pipeline_name=pipeline,
            sequence=record.sequence,
            status=record.status,
            after=after,
            version=max(self._newest_versions(record.schema_name), key=_schema_timestamp, default=None),
            state=states[-1] if states else None,
        )

    def summary(self) -> LoadSummary | None:
        """Return the index with the loads completed since its newest entry; None without an index."""
        summary = self._index.newest()[1]
        self._cached_summary = None if summary is None else summary.with_open_resolved(self._is_complete)
        return self._cached_summary

    def _is_complete(self, load: IndexedLoad) -> bool:
        return self._unchanging.has_file(_load_file(load.schema_name, load.load_id))

    def _with_unannounced(self, summary: LoadSummary) -> LoadSummary:
        """Add loads that are not in the index, such as dlt's; the id range of each schema is skipped."""
        ranges = [
            (f"{name}__{schema.lowest}", f"{name}__{schema.highest}.jsonl")
            for name, schema in summary.schemas.items()
        ]
        names = self._store.names_outside(LOADS_TABLE, ranges)
        return summary.with_unannounced(_parse_load_name(name) for name in names if name.endswith(".jsonl"))

    def _may_have_unindexed(self, summary: LoadSummary, pipeline_name: str) -> bool:
        """Return whether a pipeline may have loads from before the index: then it has a state."""
        if not summary.is_partial or pipeline_name in summary.pipelines:
            return False
        return bool(self._row_names(STATE_TABLE, pipeline_name))

    def _with_unindexed(self, summary: LoadSummary, record: CommitRecord) -> LoadSummary:
        """Add the newest loads of a pipeline from before the index, when its first load is indexed."""
        name = record.pipeline_name
        if name is None or not self._may_have_unindexed(summary, name):
            return summary
        late = self.late_loads()

        def indexed(commit: CommitRecord | None, state: str | None = None) -> IndexedLoad | None:
            if commit is None:
                return None
            after, number = late.positions.get(commit.load_id, (None, commit.sequence))
            return IndexedLoad(
                schema_name=commit.schema_name,
                load_id=commit.load_id,
                pipeline_name=name,
                sequence=number,
                after=after,
                state=state,
            )

        state = self._scan_last_state(name)
        listed = ListedSnapshot(tuple(self.complete_loads()), self)
        older = PipelineLoads(
            last=indexed(self._scan_last_commit(name)),
            stated=indexed(listed.find(_load_id_of_state(state)), state) if state else None,
            first=record.sequence or 0,
        )
        return replace(summary, pipelines={**summary.pipelines, name: older})

    def _delete_old_states(self, pipeline_name: str, *, keep: str) -> None:
        """Delete the oldest states beyond the number that dlt keeps, but not the current one."""
        names = self._row_names(STATE_TABLE, pipeline_name)
        pipeline = self._cached_summary.pipelines.get(pipeline_name) if self._cached_summary else None
        if len(names) <= _MAX_STATES or pipeline is None or pipeline.stated is None:
            return
        for name in sorted(names, key=_rank_of_state)[:-_MAX_STATES]:
            if name not in {keep, pipeline.stated.state}:
                self._store.delete_file(f"{STATE_TABLE}/{name}")

    def _newest_versions(self, schema_name: str) -> list[str]:
        """List the files of a schema's versions, from the newest one in the index on."""
        if self._cached_summary is None:
            self._cached_summary = self._index.newest()[1]
        schema = self._cached_summary.schemas.get(schema_name) if self._cached_summary else None
        second = schema.version.split("__")[-2].partition(".")[0] if schema and schema.version else ""
        # A time with another number of digits, of a clock that was never set, sorts elsewhere.
        after = f"{schema_name}__{second}" if len(second) == _EPOCH_SECOND_DIGITS else ""
        names = self._row_names(VERSION_TABLE, schema_name, after=after)
        return names or (self._row_names(VERSION_TABLE, schema_name) if after else [])

    def _scan_last_commit(self, pipeline_name: str) -> CommitRecord | None:
        for load in reversed(self.complete_loads()):
            record = self._read_commit(schema_name=load.schema_name, load_id=load.load_id)
            if record is not None and record.pipeline_name == pipeline_name and record.status == 0:
                return record
        return None

    def _scan_last_state(self, pipeline_name: str) -> str | None:
        """Return the name of the newest state file."""
        loads = {load.load_id: load for load in self.complete_loads()}
        late, names = self.late_loads(), self._row_names(STATE_TABLE, pipeline_name)
        for name in sorted(names, key=lambda file: late.rank(_load_id_of_state(file)), reverse=True):
            load = loads.get(_load_id_of_state(name))
            record = load and self._read_commit(schema_name=load.schema_name, load_id=load.load_id)
            if record is not None and record.status == 0:
                return name
        return None

    def _read_state(self, name: str | None) -> StateInfo | None:
        document = self._unchanging.read_json(f"{STATE_TABLE}/{name}") if name else None
        if document is None:
            return None
        document["created_at"] = datetime.fromisoformat(document["created_at"])
        return StateInfo(**{column.name: document[column.name] for column in fields(StateInfo)})

    def _read_schema(self, name: str) -> StorageSchemaInfo | None:
        document = self._unchanging.read_json(f"{VERSION_TABLE}/{name}")
        if document is None:
            return None
        inserted_at = datetime.fromisoformat(document["inserted_at"])
        return StorageSchemaInfo(
            **{**{key: document[key] for key in StorageSchemaInfo._fields}, "inserted_at": inserted_at}
        )

    def late_loads(self) -> LateLoads:
        """Return the loads that were completed after loads with greater ids."""
        return LateLoads.from_names(self._store.names(_LATE_FOLDER))

    def _row_names(self, table: str, owner: str | None = None, *, after: str = "") -> list[str]:
        prefix = "" if owner is None else f"{owner}__"
        names = [name for name in self._store.names(table, prefix=prefix, after=after) if _is_row(name)]
        # An owner's name may contain the separator, so parts are counted from the right.
        return [name for name in names if owner is None or name.rsplit("__", 2)[0] == owner]


def _is_superseded(summary: LoadSummary, record: CommitRecord) -> bool:
    """Return whether a pipeline has completed a later load, which a late process must not follow."""
    pipeline = summary.pipelines.get(record.pipeline_name or "")
    last = pipeline.last if pipeline else None
    return last is not None and record.sequence is not None and (last.sequence or 0) > record.sequence


def _load_file(schema_name: str, load_id: str) -> str:
    return f"{LOADS_TABLE}/{schema_name}__{load_id}.jsonl"


def _late_file(record: CommitRecord, *, after: str) -> str:
    # Loads of penstock always have a sequence.
    return f"{_LATE_FOLDER}/{after}__{record.sequence or 0:010d}__{record.load_id}.json"


def _parse_load_name(name: str) -> CompleteLoad:
    return CompleteLoad(*name.removesuffix(".jsonl").rsplit("__", 1))


def _is_row(name: str) -> bool:
    return name.endswith(".jsonl")


def _load_id_of_state(name: str) -> str:
    return name.split("__")[-2]


def _rank_of_state(name: str) -> Rank:
    return rank_of(_load_id_of_state(name), None)


def _schema_timestamp(name: str) -> float:
    return float(name.split("__")[-2])


def _commit_record(document: Mapping[str, Any]) -> CommitRecord:
    # Rows of dlt lack our columns, and later releases of either tool may add some.
    values = {key: document[key] for key in CommitRecord.__dataclass_fields__ if key in document}
    return CommitRecord(**{**values, "undoes": tuple(values.get("undoes", ()))})


def _row_document(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.isoformat() if isinstance(value, datetime) else value for key, value in row.items()}


def _hex(version_hash: str) -> str:
    return base64.b64decode(version_hash).hex()
