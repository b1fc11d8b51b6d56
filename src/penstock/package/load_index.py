"""An index of the complete loads of a dataset: what a run must know of them, at a cost that does not grow.

The files of `_dlt_loads` decide which loads are complete, and nothing else does. The index only saves
their listing. It is a chain of numbered entries, each put if absent, each with the whole summary in it, so
the newest is enough and older ones are deleted. An entry names a load before the load is complete: a process
that dies in between leaves a load that is looked up again, never one that is missed.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from penstock.errors import PackageDamaged
from penstock.interfaces.ledger import CommitRecord, CompleteLoad
from penstock.package.control_file import encode_control, read_control
from penstock.package.strict_record import validate_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from penstock.package.storage import FileStorage

INDEX_FOLDER: Final = "_dlt_index"
_KEPT_ENTRIES: Final = 16
_LATE_NAME: Final = re.compile(r"(?P<after>.+)__(?P<number>\d{10})__(?P<load>.+)\.json")
_ENTRY_NAME: Final = re.compile(r"([0-9]{10})\.json")

Rank = tuple[str, int, str]
"""The position of a load in the order of completion: the load it follows, its number there, and its id."""


def rank_of(load_id: str, after: tuple[str, int] | None) -> Rank:
    """Return the position of a load; one that was completed after no younger one goes by its id."""
    return (load_id, -1, load_id) if after is None else (*after, load_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedLoad:
    """A load of ours that is complete or about to be."""

    schema_name: str
    load_id: str
    pipeline_name: str | None = None
    sequence: int | None = None
    status: int = 0
    after: str | None = None
    """The load that it follows, where that has a greater id."""
    version: str | None = None
    """The file with the newest version of the schema."""
    state: str | None = None
    """The file with the state that the load stored, if it stored one."""

    @property
    def rank(self) -> Rank:
        """The position of the load."""
        return rank_of(self.load_id, None if self.after is None else (self.after, self.sequence or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineLoads:
    """The loads of one pipeline, in short."""

    last: IndexedLoad | None = None
    """The newest one."""
    stated: IndexedLoad | None = None
    """The newest one that stored a state."""
    first: int = 0
    """The sequence number from which on its loads are in the index."""

    def with_load(self, load: IndexedLoad) -> PipelineLoads:
        """Add a complete load."""
        if load.status != 0:
            return self
        stated = _newer(self.stated, load) if load.state else self.stated
        return replace(self, last=_newer(self.last, load), stated=stated)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLoads:
    """The loads of one schema, in short."""

    first: Rank
    last: Rank
    load_id: str
    """The newest load by its rank."""
    lowest: str
    highest: str
    """Ids of loads: all in between are in the index or of no use to it."""
    version: str | None = None

    @staticmethod
    def from_load(load: IndexedLoad) -> SchemaLoads:
        """The first load of a schema."""
        return SchemaLoads(
            first=load.rank,
            last=load.rank,
            load_id=load.load_id,
            lowest=load.load_id,
            highest=load.load_id,
            version=load.version,
        )

    def with_load(self, load: IndexedLoad) -> SchemaLoads:
        """Add a complete load."""
        wider = replace(
            self,
            first=min(self.first, load.rank),
            lowest=min(self.lowest, load.load_id),
            highest=max(self.highest, load.load_id),
            version=load.version or self.version,
        )
        return wider if load.rank <= self.last else replace(wider, last=load.rank, load_id=load.load_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSummary:
    """What the index knows: loads that are complete in short, and those that may be by now."""

    pipelines: Mapping[str, PipelineLoads] = field(default_factory=dict)
    schemas: Mapping[str, SchemaLoads] = field(default_factory=dict)
    open: tuple[IndexedLoad, ...] = ()
    """Loads that were about to be completed, in the order in which they were announced."""
    is_partial: bool = False
    """Whether loads are older than the index: pipelines that it does not name may have some."""

    @property
    def highest(self) -> str:
        """The greatest id of a complete load; empty where there is none."""
        return max((schema.highest for schema in self.schemas.values()), default="")

    def last_loads(self) -> dict[str, str]:
        """The newest load of each schema; the schema that was loaded first comes first."""
        ordered = sorted(self.schemas.items(), key=lambda item: item[1].first)
        return {name: schema.load_id for name, schema in ordered}

    def with_open_resolved(self, is_complete: Callable[[IndexedLoad], bool]) -> LoadSummary:
        """Ask for the open loads; a pipeline that has completed one is through with those before it."""
        left: list[IndexedLoad] = []
        summary = self
        for load in self.open:
            if is_complete(load):
                summary = summary.with_load(load)
                left = [one for one in left if one.pipeline_name != load.pipeline_name]
            else:
                left.append(load)
        return replace(summary, open=tuple(left))

    def with_load(self, load: IndexedLoad) -> LoadSummary:
        """Add a complete load."""
        schema = self.schemas.get(load.schema_name)
        schemas = {
            **self.schemas,
            load.schema_name: schema.with_load(load) if schema else SchemaLoads.from_load(load),
        }
        if load.pipeline_name is None:
            return replace(self, schemas=schemas)
        pipeline = self.pipelines.get(load.pipeline_name) or PipelineLoads(first=load.sequence or 0)
        return replace(
            self,
            schemas=schemas,
            pipelines={**self.pipelines, load.pipeline_name: pipeline.with_load(load)},
        )

    def with_unannounced(self, loads: Iterable[CompleteLoad]) -> LoadSummary:
        """Add complete loads that no process has announced, such as those of dlt: they go by their ids."""
        announced = {(load.schema_name, load.load_id) for load in self.open}
        summary = self
        for load in loads:
            if load not in announced:
                found = IndexedLoad(schema_name=load.schema_name, load_id=load.load_id)
                summary = summary.with_load(found)
        return summary

    def with_open_load(self, load: IndexedLoad) -> LoadSummary:
        """Announce a load; again where an earlier process did not come to complete it."""
        others = [
            one for one in self.open if (one.schema_name, one.load_id) != (load.schema_name, load.load_id)
        ]
        return replace(self, open=(*others, load))

    def to_json(self, *, writer_id: str) -> bytes:
        """The content of an entry."""
        return encode_control({**asdict(self), "by": writer_id})

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> LoadSummary:
        """Read what `to_json` wrote; what is missing or wrong is a `KeyError` or `TypeError`."""
        return LoadSummary(
            pipelines={name: _parse_pipeline(one) for name, one in document["pipelines"].items()},
            schemas={name: _parse_schema(one) for name, one in document["schemas"].items()},
            open=tuple(validate_fields(IndexedLoad(**one)) for one in document["open"]),
            is_partial=bool(document["is_partial"]),
        )


class LoadIndex:
    """The entries of one dataset. The highest number counts; it is never deleted."""

    def __init__(self, store: FileStorage) -> None:
        self._store = store

    def newest(self) -> tuple[int, LoadSummary | None]:
        """Read the newest entry. One that cannot be read is as good as none: it is built anew behind it."""
        number = max(self._numbers(), default=0)
        if not number:
            return 0, None
        try:
            document = read_control(self._store, _entry_path(number))
            return number, None if document is None else LoadSummary.from_dict(document)
        except (PackageDamaged, KeyError, TypeError, AttributeError):
            return number, None

    def append(self, number: int, summary: LoadSummary) -> bool:
        """Add the entry that follows the newest; False when another process was first.

        A number below those that are kept may be free again. What was put there by a process that slept is in
        no chain, and that process has to look again.
        """
        if not self._store.put_if_absent(_entry_path(number), summary.to_json(writer_id=uuid4().hex)):
            return False
        numbers = self._numbers()
        if max(numbers, default=number) >= number + _KEPT_ENTRIES:
            return False
        for old in numbers:
            if old <= number - _KEPT_ENTRIES:
                self._store.delete(_entry_path(old))
        return True

    def _numbers(self) -> list[int]:
        names = (_ENTRY_NAME.fullmatch(name) for name in self._store.names(INDEX_FOLDER))
        return [int(name[1]) for name in names if name]


@dataclass(frozen=True, slots=True)
class LateLoads:
    """The loads that were completed after younger ones: after which, and with which number."""

    positions: Mapping[str, tuple[str, int]]

    @staticmethod
    def from_names(names: Iterable[str]) -> LateLoads:
        """Read the names of the notes; of several for one load the last counts."""
        found = (_LATE_NAME.fullmatch(name) for name in sorted(names))
        return LateLoads({name["load"]: (name["after"], int(name["number"])) for name in found if name})

    def rank(self, load_id: str) -> Rank:
        """Where a load stands in the order in which loads were completed."""
        return rank_of(load_id, self.positions.get(load_id))


class LedgerReader(Protocol):
    """The ledger that a snapshot asks for what it does not know itself."""

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """Return the commit of one load, or None while it is not complete."""

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """List all complete loads."""

    def late_loads(self) -> LateLoads:
        """Return the loads that were completed after younger ones."""

    def summary(self) -> LoadSummary | None:
        """Return what the index knows now; None where there is no index."""


@dataclass(frozen=True)
class ListedSnapshot:
    """The loads of a dataset without an index."""

    listed_loads: tuple[CompleteLoad, ...]
    ledger: LedgerReader

    @cached_property
    def _schemas(self) -> dict[str, str]:
        return {load.load_id: load.schema_name for load in self.listed_loads}

    def last_loads(self) -> Mapping[str, str]:
        """The newest load of each schema."""
        return {load.schema_name: load.load_id for load in self.listed_loads}

    def find(self, load_id: str) -> CommitRecord | None:
        """The commit of a load, whatever its schema."""
        schema_name = self._schemas.get(load_id)
        return self.ledger.find_commit(schema_name=schema_name, load_id=load_id) if schema_name else None

    def __contains__(self, load_id: object) -> bool:
        return load_id in self._schemas

    def loads(self) -> Sequence[CompleteLoad]:
        """The names of all loads, oldest first."""
        return self.listed_loads


@dataclass(frozen=True)
class IndexedSnapshot:
    """The loads of a dataset by its index: those that it does not name are looked up one by one.

    Loads of a pipeline are completed in the order of their sequence numbers. So one is part of the moment if
    its number is not beyond that of the pipeline's newest load then.
    """

    summary: LoadSummary
    ledger: LedgerReader
    _completeness: dict[str, bool] = field(default_factory=dict)

    def last_loads(self) -> Mapping[str, str]:
        """The newest load of each schema."""
        return self.summary.last_loads()

    def find(self, load_id: str) -> CommitRecord | None:
        """The commit of a load, whatever its schema."""
        for schema_name in self.summary.schemas:
            record = self.ledger.find_commit(schema_name=schema_name, load_id=load_id)
            if record is not None:
                return record if self._was_complete(record) else None
        return None

    def __contains__(self, load_id: object) -> bool:
        if not isinstance(load_id, str):
            return False
        if load_id not in self._completeness:
            lasts = {one.last.load_id for one in self.summary.pipelines.values() if one.last}
            self._completeness[load_id] = load_id in lasts or self.find(load_id) is not None
        return self._completeness[load_id]

    def loads(self) -> Sequence[CompleteLoad]:
        """The names of all loads, oldest first."""
        late, highest = self.ledger.late_loads(), self.summary.highest
        listed = [load for load in self.ledger.complete_loads() if self._is_in_snapshot(load)]
        # Only what came after the newest load of the moment may have come after the moment.
        return [
            load
            for load in listed
            if late.positions.get(load.load_id, ("", 0))[0] < highest or load.load_id in self
        ]

    def _is_in_snapshot(self, load: CompleteLoad) -> bool:
        schema = self.summary.schemas.get(load.schema_name)
        is_open = any((one.schema_name, one.load_id) == load for one in self.summary.open)
        return not is_open and schema is not None and load.load_id <= schema.highest

    def _was_complete(self, record: CommitRecord) -> bool:
        name = record.pipeline_name
        if name is None or record.sequence is None:
            return self._is_in_snapshot(CompleteLoad(record.schema_name, record.load_id))
        pipeline = self.summary.pipelines.get(name)
        if pipeline is None:
            # A pipeline that came into the index later; what it had before was there.
            pipeline = (self.ledger.summary() or self.summary).pipelines.get(name)
            return pipeline is None or record.sequence < pipeline.first
        return pipeline.last is not None and record.sequence <= (pipeline.last.sequence or 0)


def _newer(load: IndexedLoad | None, other: IndexedLoad) -> IndexedLoad:
    return other if load is None or other.rank >= load.rank else load


def _parse_pipeline(document: Mapping[str, Any]) -> PipelineLoads:
    loads = {
        name: None if document[name] is None else validate_fields(IndexedLoad(**document[name]))
        for name in ("last", "stated")
    }
    return validate_fields(PipelineLoads(**{**document, **loads}))


def _parse_schema(document: Mapping[str, Any]) -> SchemaLoads:
    ranks = {name: tuple(document[name]) for name in ("first", "last")}
    return validate_fields(SchemaLoads(**{**document, **ranks}))


def _entry_path(number: int) -> str:
    return f"{INDEX_FOLDER}/{number:010}.json"
