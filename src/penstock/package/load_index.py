"""The index of the complete loads of a dataset, which saves listing them, and snapshots that read it.

Only the files of `_dlt_loads` decide which loads are complete. The index is a chain of numbered entries, each
put if absent and each with the whole summary, so older entries are deleted. An entry names a load before the
load is complete: after a crash in between the load is looked up, and never missed.
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
    """Return the position of a load: by its id, unless it was completed after a load with a greater id."""
    return (load_id, -1, load_id) if after is None else (*after, load_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedLoad:
    """A load that is complete or about to be."""

    schema_name: str
    load_id: str
    pipeline_name: str | None = None
    sequence: int | None = None
    status: int = 0
    after: str | None = None
    """The load that it follows, if that has a greater id."""
    version: str | None = None
    """The file with the newest version of the schema."""
    state: str | None = None
    """The file of the state that the load stored, if any."""

    @property
    def rank(self) -> Rank:
        """The position of the load."""
        return rank_of(self.load_id, None if self.after is None else (self.after, self.sequence or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineLoads:
    """A summary of the loads of one pipeline."""

    last: IndexedLoad | None = None
    """The newest load."""
    stated: IndexedLoad | None = None
    """The newest load that stored a state."""
    first: int = 0
    """The sequence number of its first load in the index."""

    def with_load(self, load: IndexedLoad) -> PipelineLoads:
        """Return a copy with a complete load added."""
        if load.status != 0:
            return self
        stated = _newer(self.stated, load) if load.state else self.stated
        return replace(self, last=_newer(self.last, load), stated=stated)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLoads:
    """A summary of the loads of one schema."""

    first: Rank
    last: Rank
    load_id: str
    """The newest load by its rank."""
    lowest: str
    highest: str
    """The least and the greatest id; loads between them are in the index, or not needed."""
    version: str | None = None

    @staticmethod
    def from_load(load: IndexedLoad) -> SchemaLoads:
        """Return the summary of a schema with one load."""
        return SchemaLoads(
            first=load.rank,
            last=load.rank,
            load_id=load.load_id,
            lowest=load.load_id,
            highest=load.load_id,
            version=load.version,
        )

    def with_load(self, load: IndexedLoad) -> SchemaLoads:
        """Return a copy with a complete load added."""
        extended = replace(
            self,
            first=min(self.first, load.rank),
            lowest=min(self.lowest, load.load_id),
            highest=max(self.highest, load.load_id),
            version=load.version or self.version,
        )
        return extended if load.rank <= self.last else replace(extended, last=load.rank, load_id=load.load_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSummary:
    """The content of the index: summaries of complete loads, and open loads that may be complete by now."""

    pipelines: Mapping[str, PipelineLoads] = field(default_factory=dict)
    schemas: Mapping[str, SchemaLoads] = field(default_factory=dict)
    open: tuple[IndexedLoad, ...] = ()
    """Loads that were about to be completed, in the order of their announcement."""
    is_partial: bool = False
    """Whether some loads are older than the index: pipelines outside it may have some."""

    @property
    def highest(self) -> str:
        """The greatest id of a complete load; empty when none exists."""
        return max((schema.highest for schema in self.schemas.values()), default="")

    def last_loads(self) -> dict[str, str]:
        """Return the newest load of each schema; the schema that was loaded first comes first."""
        ordered = sorted(self.schemas.items(), key=lambda item: item[1].first)
        return {name: schema.load_id for name, schema in ordered}

    def with_open_resolved(self, is_complete: Callable[[IndexedLoad], bool]) -> LoadSummary:
        """Return a copy with completed open loads added, and earlier ones of their pipelines dropped."""
        still_open: list[IndexedLoad] = []
        summary = self
        for load in self.open:
            if is_complete(load):
                summary = summary.with_load(load)
                still_open = [other for other in still_open if other.pipeline_name != load.pipeline_name]
            else:
                still_open.append(load)
        return replace(summary, open=tuple(still_open))

    def with_load(self, load: IndexedLoad) -> LoadSummary:
        """Return a copy with a complete load added."""
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
        """Return a copy with complete loads added that were not announced, such as those of dlt."""
        announced = {(load.schema_name, load.load_id) for load in self.open}
        summary = self
        for load in loads:
            if load not in announced:
                summary = summary.with_load(IndexedLoad(schema_name=load.schema_name, load_id=load.load_id))
        return summary

    def with_open_load(self, load: IndexedLoad) -> LoadSummary:
        """Return a copy with a load announced, in place of an earlier announcement."""
        others = [
            other
            for other in self.open
            if (other.schema_name, other.load_id) != (load.schema_name, load.load_id)
        ]
        return replace(self, open=(*others, load))

    def to_json(self, *, writer_id: str) -> bytes:
        """Return the content of an entry."""
        return encode_control({**asdict(self), "by": writer_id})

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> LoadSummary:
        """Read a document of `to_json`; a missing or wrong field is a `KeyError` or `TypeError`."""
        return LoadSummary(
            pipelines={name: _parse_pipeline(pipeline) for name, pipeline in document["pipelines"].items()},
            schemas={name: _parse_schema(schema) for name, schema in document["schemas"].items()},
            open=tuple(validate_fields(IndexedLoad(**load)) for load in document["open"]),
            is_partial=bool(document["is_partial"]),
        )


class LoadIndex:
    """The entries of one dataset. The highest number counts and is never deleted."""

    def __init__(self, store: FileStorage) -> None:
        self._store = store

    def newest(self) -> tuple[int, LoadSummary | None]:
        """Read the newest entry. An unreadable one counts as none: the next entry is built from scratch."""
        number = max(self._numbers(), default=0)
        if not number:
            return 0, None
        try:
            document = read_control(self._store, _entry_path(number))
            return number, None if document is None else LoadSummary.from_dict(document)
        except (PackageDamaged, KeyError, TypeError, AttributeError):
            return number, None

    def append(self, number: int, summary: LoadSummary) -> bool:
        """Add the entry after the newest; return False when another process was first.

        The number of a deleted entry is free again. An entry that a late process puts there is outside the
        chain, and that process has to read the newest entry again.
        """
        if not self._store.put_if_absent(_entry_path(number), summary.to_json(writer_id=uuid4().hex)):
            return False
        numbers = self._numbers()
        if max(numbers, default=number) >= number + _KEPT_ENTRIES:
            return False
        for old in numbers:
            if old <= number - _KEPT_ENTRIES:
                self._store.delete_file(_entry_path(old))
        return True

    def _numbers(self) -> list[int]:
        matches = (_ENTRY_NAME.fullmatch(name) for name in self._store.names(INDEX_FOLDER))
        return [int(match[1]) for match in matches if match]


@dataclass(frozen=True, slots=True)
class LateLoads:
    """The loads that were completed after loads with greater ids: after which, and with which number."""

    positions: Mapping[str, tuple[str, int]]

    @staticmethod
    def from_names(names: Iterable[str]) -> LateLoads:
        """Read file names of `_dlt_late`; of several for one load the last counts."""
        matches = (_LATE_NAME.fullmatch(name) for name in sorted(names))
        return LateLoads(
            {match["load"]: (match["after"], int(match["number"])) for match in matches if match}
        )

    def rank(self, load_id: str) -> Rank:
        """Return the position of a load in the order of completion."""
        return rank_of(load_id, self.positions.get(load_id))


class CommitReader(Protocol):
    """The part of a ledger that a snapshot reads whose loads are listed."""

    def find_commit(self, *, schema_name: str, load_id: str) -> CommitRecord | None:
        """Return the commit of a load; None before it is complete."""


class LedgerReader(CommitReader, Protocol):
    """The part of a ledger that snapshots with an index read."""

    def complete_loads(self) -> Sequence[CompleteLoad]:
        """List all complete loads."""

    def late_loads(self) -> LateLoads:
        """Return the loads that were completed after loads with greater ids."""

    def summary(self) -> LoadSummary | None:
        """Return the current index; None without an index."""


@dataclass(frozen=True)
class ListedSnapshot:
    """A snapshot of a dataset without an index: all loads are listed."""

    listed_loads: tuple[CompleteLoad, ...]
    ledger: CommitReader

    @cached_property
    def _schemas(self) -> dict[str, str]:
        return {load.load_id: load.schema_name for load in self.listed_loads}

    def last_loads(self) -> Mapping[str, str]:
        """Return the newest load of each schema."""
        return {load.schema_name: load.load_id for load in self.listed_loads}

    def find(self, load_id: str) -> CommitRecord | None:
        """Return the commit of a load of any schema."""
        schema_name = self._schemas.get(load_id)
        return self.ledger.find_commit(schema_name=schema_name, load_id=load_id) if schema_name else None

    def __contains__(self, load_id: object) -> bool:
        return load_id in self._schemas

    def loads(self) -> Sequence[CompleteLoad]:
        """List all loads, oldest first."""
        return self.listed_loads


@dataclass(frozen=True)
class IndexedSnapshot:
    """A snapshot by the index; loads outside the index are looked up one by one.

    A pipeline completes loads in the order of their sequence numbers, so a load belongs to the snapshot if
    its number is at most that of the pipeline's newest load in it.
    """

    summary: LoadSummary
    ledger: LedgerReader
    _completeness: dict[str, bool] = field(default_factory=dict)

    def last_loads(self) -> Mapping[str, str]:
        """Return the newest load of each schema."""
        return self.summary.last_loads()

    def find(self, load_id: str) -> CommitRecord | None:
        """Return the commit of a load of any schema."""
        for schema_name in self.summary.schemas:
            record = self.ledger.find_commit(schema_name=schema_name, load_id=load_id)
            if record is not None:
                return record if self._was_complete(record) else None
        return None

    def __contains__(self, load_id: object) -> bool:
        if not isinstance(load_id, str):
            return False
        if load_id not in self._completeness:
            lasts = {pipeline.last.load_id for pipeline in self.summary.pipelines.values() if pipeline.last}
            self._completeness[load_id] = load_id in lasts or self.find(load_id) is not None
        return self._completeness[load_id]

    def loads(self) -> Sequence[CompleteLoad]:
        """List all loads, oldest first."""
        late, highest = self.ledger.late_loads(), self.summary.highest
        listed = [load for load in self.ledger.complete_loads() if self._is_in_snapshot(load)]
        # Only a load that follows the newest one of the snapshot may be later than the snapshot.
        return [
            load
            for load in listed
            if late.positions.get(load.load_id, ("", 0))[0] < highest or load.load_id in self
        ]

    def _is_in_snapshot(self, load: CompleteLoad) -> bool:
        schema = self.summary.schemas.get(load.schema_name)
        is_open = any((other.schema_name, other.load_id) == load for other in self.summary.open)
        return not is_open and schema is not None and load.load_id <= schema.highest

    def _was_complete(self, record: CommitRecord) -> bool:
        name = record.pipeline_name
        if name is None or record.sequence is None:
            return self._is_in_snapshot(CompleteLoad(record.schema_name, record.load_id))
        pipeline = self.summary.pipelines.get(name)
        if pipeline is None:
            # The pipeline was indexed later; its loads before that belong to the snapshot.
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
