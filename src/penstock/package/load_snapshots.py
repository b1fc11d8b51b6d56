"""The complete loads of a dataset at one moment, for readers: listed, or by the index of loads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from penstock.interfaces.ledger import CommitRecord, CompleteLoad
from penstock.package.load_index import LoadSummary, rank_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.package.load_index import Rank

_LATE_NAME: Final = re.compile(r"(?P<after>.+)__(?P<number>\d{10})__(?P<load>.+)\.json")


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
