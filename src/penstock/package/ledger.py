"""A ledger in small files, in the layout of dlt's file destinations: either tool reads the other's."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from penstock.interfaces.ledger import CommitRecord, CompleteLoad, StateInfo, StorageSchemaInfo
from penstock.package.storage import FileStorage, as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LOADS, VERSIONS, STATES = "_dlt_loads", "_dlt_version", "_dlt_pipeline_state"
SYSTEM_TABLES = (LOADS, VERSIONS, STATES)
_INIT, _LATE = "init", "_dlt_late"
_LATE_NAME = re.compile(r"(?P<after>.+)__(?P<number>\d{10})__(?P<load>.+)\.json")
_NEXT = timedelta(microseconds=1)
_LAYOUT_VERSION = {"initial_version": 2, "current_version": 2}


@dataclass(frozen=True, slots=True)
class _Late:
    """The loads that were completed after younger ones: after which, and with which number."""

    ranks: Mapping[str, tuple[str, int]]

    @staticmethod
    def of(names: Iterable[str]) -> _Late:
        found = (_LATE_NAME.fullmatch(name) for name in sorted(names))
        return _Late({name["load"]: (name["after"], int(name["number"])) for name in found if name})

    def rank(self, load_id: str) -> tuple[str, int]:
        """Where a load stands in the order in which loads were completed."""
        return self.ranks.get(load_id, (load_id, -1))


class FileLedger:
    """The ledger of a dataset that is a folder.

    A load counts from the moment its `_dlt_loads` file exists. Loads are in the order of their ids. One that
    is completed after a younger one stands behind it: a note in `_dlt_late` says so, by its name alone.
    """

    def __init__(self, store: FileStorage) -> None:
        self._store = store

    def initialize(self) -> None:
        """Make the dataset if it is not there."""
        self._store.put_if_absent(_INIT, as_json(_LAYOUT_VERSION))

    def is_initialized(self) -> bool:
        """Whether anything was ever loaded here."""
        return self._store.exists(_INIT)

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """The commit of one load, or None while it is not complete."""
        document = self._store.read_json(_load_file(schema_name, load_id))
        return _commit_record(document) if document is not None else None

    def last_commit(self, pipeline_name: str) -> CommitRecord | None:
        """The newest complete load of a pipeline."""
        late = self._late()
        names = sorted(self._names(LOADS), key=lambda name: late.rank(_load_of_commit(name)), reverse=True)
        for name in names:
            document = self._store.read_json(f"{LOADS}/{name}") or {}
            if document.get("pipeline_name") == pipeline_name and document.get("status") == 0:
                return _commit_record(document)
        return None

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """The names of all complete loads, oldest first: they are in the names of the files."""
        found = (CompleteLoad(*name.removesuffix(".jsonl").rsplit("__", 1)) for name in self._names(LOADS))
        late = self._late()
        return sorted(found, key=lambda load: late.rank(load.load_id))

    def find_schema(self, *, schema_name: str, version_hash: str) -> StorageSchemaInfo | None:
        """One stored version of a schema."""
        end = f"__{_hex(version_hash)}.jsonl"
        names = [name for name in self._names(VERSIONS, schema_name) if name.endswith(end)]
        return self._schema(names[0]) if names else None

    def store_schema(self, row: StorageSchemaInfo) -> None:
        """Keep a schema version; keeping the same one twice changes nothing."""
        digest = _hex(row.version_hash)
        newest = max(self._names(VERSIONS, row.schema_name), key=_moment_of_schema, default="")
        # Not any one that is the same: a schema that begins anew may be again what it was long ago.
        if newest.endswith(f"__{digest}.jsonl"):
            return
        if newest:
            # The newest is found by its moment, and the clock of this machine may be behind.
            after = datetime.fromtimestamp(_moment_of_schema(newest), UTC) + _NEXT
            row = row._replace(inserted_at=max(row.inserted_at, after))
        name = f"{row.schema_name}__{row.inserted_at.timestamp():.6f}__{digest}.jsonl"
        self._store.put(f"{VERSIONS}/{name}", as_json(_document(row)))

    def store_state(self, row: StateInfo, *, schema_hash: str) -> None:
        """Keep a pipeline state; it counts only once its load is committed."""
        name = f"{STATES}/{row.pipeline_name}__{row.dlt_load_id}__{_hex(schema_hash)}.jsonl"
        document = _document(row)
        document["_dlt_load_id"] = document.pop("dlt_load_id")
        self._store.put(name, as_json(document))

    def commit(self, record: CommitRecord) -> bool:
        """Complete a load. False when somebody else had completed it."""
        name = _load_file(record.schema_name, record.load_id)
        loads = [_load_of_commit(one) for one in self._names(LOADS)]
        if max(loads, default="") > record.load_id and record.load_id not in loads:
            self._store.put(_late_file(record, after=max(loads)), b"{}")
        return self._store.put_if_absent(name, as_json(asdict(record)))

    def last_schema(self, schema_name: str | None = None) -> StorageSchemaInfo | None:
        """The newest stored version of one schema, or of any."""
        names = self._names(VERSIONS, schema_name)
        if not names:
            return None
        return self._schema(max(names, key=_moment_of_schema))

    def last_state(self, pipeline_name: str) -> StateInfo | None:
        """The newest state of a pipeline that belongs to a complete load."""
        loads = {_load_of_commit(name): name for name in self._names(LOADS)}
        late, names = self._late(), self._names(STATES, pipeline_name)
        for name in sorted(names, key=lambda one: late.rank(_load_of_state(one)), reverse=True):
            load = loads.get(_load_of_state(name))
            if load is not None and (self._store.read_json(f"{LOADS}/{load}") or {}).get("status") == 0:
                document = self._store.read_json(f"{STATES}/{name}") or {}
                document["dlt_load_id"] = document["_dlt_load_id"]
                document["created_at"] = datetime.fromisoformat(document["created_at"])
                return StateInfo(**{key: document[key] for key in StateInfo._fields})
        return None

    def rows(self, table: str) -> Sequence[Mapping[str, Any]]:
        """All rows of a system table, oldest first."""
        contents = (self._store.read(f"{table}/{name}") for name in self._names(table))
        return [json.loads(line) for content in contents if content for line in content.splitlines()]

    def _schema(self, name: str) -> StorageSchemaInfo:
        document = self._store.read_json(f"{VERSIONS}/{name}") or {}
        moment = datetime.fromisoformat(document["inserted_at"])
        return StorageSchemaInfo(
            **{**{key: document[key] for key in StorageSchemaInfo._fields}, "inserted_at": moment}
        )

    def _late(self) -> _Late:
        return _Late.of(self._store.names(_LATE))

    def _names(self, table: str, owner: str | None = None) -> list[str]:
        names = [name for name in self._store.names(table) if name.endswith(".jsonl")]
        # An owner's name may hold the separator itself, so the parts are counted from the right.
        return [name for name in names if owner is None or name.rsplit("__", 2)[0] == owner]


def _load_file(schema_name: str, load_id: str) -> str:
    return f"{LOADS}/{schema_name}__{load_id}.jsonl"


def _late_file(record: CommitRecord, *, after: str) -> str:
    # Without a number it is behind those that have one: no load of ours is without.
    return f"{_LATE}/{after}__{record.sequence or 0:010d}__{record.load_id}.json"


def _load_of_commit(name: str) -> str:
    return name.removesuffix(".jsonl").rsplit("__", 1)[-1]


def _load_of_state(name: str) -> str:
    return name.split("__")[-2]


def _moment_of_schema(name: str) -> float:
    return float(name.split("__")[-2])


def _commit_record(document: Mapping[str, Any]) -> CommitRecord:
    # dlt's own rows lack our columns, and later releases of either may add some.
    return CommitRecord(
        **{key: document[key] for key in CommitRecord.__dataclass_fields__ if key in document}
    )


def _document(row: StorageSchemaInfo | StateInfo) -> dict[str, Any]:
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for key, value in row._asdict().items()
    }


def _hex(version_hash: str) -> str:
    return base64.b64decode(version_hash).hex()
