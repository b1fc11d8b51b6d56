"""One column and the values that arrive for it: the first one decides, the others fit or get a variant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.schema.look import detected_type
from penstock.schema.terms import fits, value_type, wider_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.evidence import Evidence, Position
    from penstock.schema.look import Detection
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.terms import Terms
    from penstock.schema.types import DataType

MICROSECONDS: Final = 6


class Placement(NamedTuple):
    """Values that are alike, and the column that takes them."""

    evidence: Evidence
    column: str
    data_type: DataType
    is_variant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """Where the values of one key go. Columns in `new` and `changed` are not as the schema has them."""

    placements: tuple[Placement, ...]
    new: tuple[tuple[Position, Column], ...] = ()
    changed: Column | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table as they are stored, and all that is needed to plan more of them."""

    stored: Mapping[str, Column]
    patterns: NamePatterns
    detections: tuple[Detection, ...]
    terms: Terms
    variant_name: Callable[[str, DataType], str]

    def plan(self, name: str, evidence: Sequence[Evidence], *, may_change: bool = True) -> ColumnPlan:
        """Decide where values go; `evidence` is sorted by position and has no nulls and nothing flattened."""
        known = self.stored.get(name)
        if known is not None and known.data_type is not None:
            return self._plan_known(known, known.data_type, evidence, may_change=may_change)
        preferred = self.patterns.preferred_type(name)
        first = next((one for one in evidence if fits(one, self._first_type(one, preferred))), None)
        if first is None:
            return self._with_variants(name, (), evidence)
        base = self._first_type(first, preferred)
        fitting, failing = _split(evidence, base)
        if failing and (wider := wider_type(base, evidence, is_stored=False, terms=self.terms)):
            base, fitting, failing = wider, tuple(evidence), ()
        column = self.patterns.inferred(name, base)
        if known is not None:
            column = column.merged(known)
        placed = tuple(Placement(one, name, base, is_variant=False) for one in fitting)
        plan = self._with_variants(name, placed, failing)
        return replace(plan, new=((first.first, column), *plan.new))

    def _plan_known(
        self, known: Column, base: DataType, evidence: Sequence[Evidence], *, may_change: bool
    ) -> ColumnPlan:
        fitting, failing = _split(evidence, base)
        changed = None
        if may_change and failing and (wider := wider_type(base, evidence, is_stored=True, terms=self.terms)):
            changed = replace(known, data_type=wider, precision=None, scale=None)
            fitting, failing = tuple(evidence), ()
        elif may_change and (digits := self._more_digits(known, fitting)):
            changed = replace(known, precision=digits)
        kind = changed.data_type if changed and changed.data_type else base
        placed = tuple(Placement(one, known.name, kind, is_variant=False) for one in fitting)
        return replace(self._with_variants(known.name, placed, failing), changed=changed)

    def _first_type(self, evidence: Evidence, preferred: DataType | None) -> DataType:
        return preferred or detected_type(evidence.detected, value_type(evidence), self.detections)

    def _more_digits(self, known: Column, evidence: Sequence[Evidence]) -> int | None:
        """A timestamp that keeps fewer digits of a second than now arrive; only where widening is wanted."""
        if self.terms.type_evolution != "widen" or known.data_type != "timestamp" or known.precision is None:
            return None
        if ("timestamp", "timestamp") not in self.terms.can_alter:
            return None
        digits = max((one.longest for one in evidence if one.type == "timestamp"), default=0)
        return min(digits, MICROSECONDS) if min(digits, MICROSECONDS) > known.precision else None

    def _with_variants(
        self, name: str, placed: tuple[Placement, ...], failing: Sequence[Evidence]
    ) -> ColumnPlan:
        new: list[tuple[Position, Column]] = []
        placements = list(placed)
        for kind in dict.fromkeys(value_type(one) for one in failing):
            own = [one for one in failing if value_type(one) == kind]
            self._place_variants(self.variant_name(name, kind), kind, own, placements, new)
        return ColumnPlan(placements=tuple(placements), new=tuple(new))

    def _place_variants(
        self,
        name: str,
        kind: DataType,
        evidence: Sequence[Evidence],
        placements: list[Placement],
        new: list[tuple[Position, Column]],
    ) -> None:
        known = self.stored.get(name)
        if known is not None and known.data_type is not None:
            fitting, failing = _split(evidence, known.data_type)
            placements.extend(Placement(one, name, known.data_type, is_variant=True) for one in fitting)
            if failing:
                # A detector typed this variant, and now a value comes that it would not have taken.
                self._place_variants(self.variant_name(name, kind), kind, failing, placements, new)
            return
        first = evidence[0]
        detected = detected_type(first.detected, kind, self.detections)
        base = detected if all(fits(one, detected) for one in evidence) else kind
        new.append((first.first, self.patterns.inferred(name, base).with_hints(variant=True)))
        placements.extend(Placement(one, name, base, is_variant=True) for one in evidence)


def _split(evidence: Sequence[Evidence], to: DataType) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    fitting = tuple(one for one in evidence if fits(one, to))
    if len(fitting) == len(evidence):
        return fitting, ()
    return fitting, tuple(one for one in evidence if not fits(one, to))
