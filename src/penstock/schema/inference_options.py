"""The terms on which a batch is taken in: whose names, which contract, and what a destination can alter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from penstock.schema.convert import is_always_convertible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.schema.contract import ContractSettings
    from penstock.schema.evidence import Evidence
    from penstock.schema.naming import NamingConvention
    from penstock.schema.types import DataType

TypeEvolution = Literal["variant", "widen"]

WIDENINGS: Final[Mapping[tuple[DataType, DataType], tuple[DataType, ...]]] = {
    ("bigint", "double"): ("double", "decimal"),
    ("bigint", "decimal"): ("decimal", "double"),
    ("bigint", "wei"): ("wei", "decimal"),
    ("wei", "decimal"): ("decimal",),
    ("wei", "double"): ("decimal",),
    ("double", "decimal"): ("decimal",),
    ("double", "bigint"): ("decimal",),
    ("date", "timestamp"): ("timestamp",),
}
"""For a column's type and the type that does not fit it, the types to go over to.

The first one wins that holds every value seen without loss; whole numbers have 53 bits in a double.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceOptions:
    """What `decide` is told beside the schema and the evidence; the defaults are dlt's.

    With `type_evolution="widen"` a value that does not fit its column changes the type of the column, where
    `WIDER` has one that holds all values seen and `can_alter` has the step, instead of getting a variant
    column. A column that does not exist yet needs no permission.
    """

    naming: NamingConvention | None = None
    """The schema's own convention when not given; a destination's comes with its maximum length."""
    contract: ContractSettings | None = None
    """The contract of the run, which counts before all others."""
    type_evolution: TypeEvolution = "variant"
    can_alter: frozenset[tuple[DataType, DataType]] = field(default=frozenset())
    """Pairs (from, to) of types that the destination can change a column from and to, rows and all."""
    max_columns: int = 2_000
    """An object with more keys than this is a map, and is kept as JSON."""
    max_nesting: int | None = None
    """The most that the engine can do, whatever the schema says."""
    merge_strategy: str | None = None
    """What `merge` means where a table says no more: the destination's own default."""


def wider_type(
    current_type: DataType, evidence: Iterable[Evidence], *, is_stored: bool, options: InferenceOptions
) -> DataType | None:
    """Find the type that holds everything where `has` does not; None when there is none or none is wanted."""
    if options.type_evolution != "widen":
        return None
    seen = tuple(evidence)
    misfit = next(value_type(one) for one in seen if not fits_type(one, current_type))
    for to in WIDENINGS.get((current_type, misfit), ()):
        allowed = not is_stored or (current_type, to) in options.can_alter
        if allowed and all(fits_type(one, to) for one in seen):
            return to
    return None


def fits_type(evidence: Evidence, to_type: DataType) -> bool:
    """Whether all these values go into a column of type `to`."""
    kind = value_type(evidence)
    return kind == to_type or to_type in evidence.fits or is_always_convertible(kind, to_type)


def value_type(evidence: Evidence) -> DataType:
    """Give the data type of values that are not flattened: objects and lists are JSON then."""
    match evidence.type:
        case "object" | "list":
            return "json"
        case "null":
            raise ValueError("a null has no type")
        case kind:
            return kind
