"""One column and the values that arrive for it: the first one decides, the others fit or get a variant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.schema.inference_options import fits_type, value_type, wider_type
from penstock.schema.observation import detected_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.evidence import Evidence, Position
    from penstock.schema.inference_options import InferenceOptions
    from penstock.schema.observation import Detection
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.types import DataType

MICROSECOND_DIGITS: Final = 6


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
class ColumnPlanner:
    """The columns of a table as they are stored, and all that is needed to plan more of them."""

    stored_columns: Mapping[str, Column]
    patterns: NamePatterns
    detections: tuple[Detection, ...]
    options: InferenceOptions
    variant_name: Callable[[str, DataType], str]

    def plan(self, name: str, evidence: Sequence[Evidence], *, may_change: bool = True) -> ColumnPlan:
        """Decide where values go; `evidence` is sorted by position and has no nulls and nothing flattened."""
        known = self.stored_columns.get(name)
        if known is not None and known.data_type is not None:
            return self._plan_stored(known, known.data_type, evidence, may_change=may_change)
        preferred = self.patterns.preferred_type(name)
        first = next((one for one in evidence if fits_type(one, self._first_type(one, preferred))), None)
        if first is None:
            return self._plan_variants(name, (), evidence)
        base = self._first_type(first, preferred)
        fitting, failing = _split_by_fit(evidence, base)
        if failing and (wider := wider_type(base, evidence, is_stored=False, options=self.options)):
            base, fitting, failing = wider, tuple(evidence), ()
        column = self.patterns.infer_column(name, base)
        if known is not None:
            column = column.merged(known)
        placed = tuple(Placement(one, name, base, is_variant=False) for one in fitting)
        plan = self._plan_variants(name, placed, failing)
        return replace(plan, new=((first.first, column), *plan.new))

    def _plan_stored(
        self, stored_column: Column, base: DataType, evidence: Sequence[Evidence], *, may_change: bool
    ) -> ColumnPlan:
        fitting, failing = _split_by_fit(evidence, base)
        changed = None
        if (
            may_change
            and failing
            and (wider := wider_type(base, evidence, is_stored=True, options=self.options))
        ):
            changed = replace(stored_column, data_type=wider, precision=None, scale=None)
            fitting, failing = tuple(evidence), ()
        elif may_change and (digits := self._wider_precision(stored_column, fitting)):
            changed = replace(stored_column, precision=digits)
        kind = changed.data_type if changed and changed.data_type else base
        placed = tuple(Placement(one, stored_column.name, kind, is_variant=False) for one in fitting)
        return replace(self._plan_variants(stored_column.name, placed, failing), changed=changed)

    def _first_type(self, evidence: Evidence, preferred: DataType | None) -> DataType:
        return preferred or detected_type(evidence.detected, value_type(evidence), self.detections)

    def _wider_precision(self, stored_column: Column, evidence: Sequence[Evidence]) -> int | None:
        """A timestamp that keeps fewer digits of a second than now arrive; only where widening is wanted."""
        if (
            self.options.type_evolution != "widen"
            or stored_column.data_type != "timestamp"
            or stored_column.precision is None
        ):
            return None
        if ("timestamp", "timestamp") not in self.options.can_alter:
            return None
        digits = max((one.longest for one in evidence if one.type == "timestamp"), default=0)
        return (
            min(digits, MICROSECOND_DIGITS)
            if min(digits, MICROSECOND_DIGITS) > stored_column.precision
            else None
        )

    def _plan_variants(
        self, name: str, base_placements: tuple[Placement, ...], failing: Sequence[Evidence]
    ) -> ColumnPlan:
        new: list[tuple[Position, Column]] = []
        placements = list(base_placements)
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
        known = self.stored_columns.get(name)
        if known is not None and known.data_type is not None:
            fitting, failing = _split_by_fit(evidence, known.data_type)
            placements.extend(Placement(one, name, known.data_type, is_variant=True) for one in fitting)
            if failing:
                # A detector typed this variant, and now a value comes that it would not have taken.
                self._place_variants(self.variant_name(name, kind), kind, failing, placements, new)
            return
        first = evidence[0]
        detected = detected_type(first.detected, kind, self.detections)
        base = detected if all(fits_type(one, detected) for one in evidence) else kind
        new.append((first.first, self.patterns.infer_column(name, base).with_hints(variant=True)))
        placements.extend(Placement(one, name, base, is_variant=True) for one in evidence)


def _split_by_fit(
    evidence: Sequence[Evidence], to_type: DataType
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    fitting = tuple(one for one in evidence if fits_type(one, to_type))
    if len(fitting) == len(evidence):
        return fitting, ()
    return fitting, tuple(one for one in evidence if not fits_type(one, to_type))
