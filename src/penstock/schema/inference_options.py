"""Options of inference: naming, contract, limits, and the type changes that a destination supports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from penstock.schema.convert import is_always_convertible
from penstock.schema.type_limits import TypeLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.schema.contract import ContractSettings
    from penstock.schema.evidence import Evidence
    from penstock.schema.naming import NamingConvention
    from penstock.schema.types import DataType

TypeEvolution = Literal["variant", "widen"]
_NO_LIMITS: Final = TypeLimits()

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
"""For the type of a column and a type that does not fit it, the types to widen the column to.

The first type that holds all values without loss is used; integers have 53 bits in a double.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceOptions:
    """Options of `decide`; the defaults are dlt's.

    With `type_evolution="widen"` a value that does not fit its column changes the type of the column instead
    of getting a variant column, if `WIDENINGS` has a type that holds all values and `can_alter` allows the
    change. A new column needs no permission.
    """

    naming: NamingConvention | None = None
    """The convention of the schema if None; a destination's has its maximum length."""
    fold_identifier: Callable[[str], str] = str
    """Names of columns with the same result are one name at the destination."""
    contract: ContractSettings | None = None
    """The contract of the run, which takes precedence over all others."""
    type_evolution: TypeEvolution = "variant"
    can_alter: frozenset[tuple[DataType, DataType]] = field(default=frozenset())
    """Pairs (from, to) of types between which the destination can change a column with rows."""
    max_columns: int = 2_000
    """An object with more keys than this is taken for a map and kept as JSON."""
    max_nesting: int | None = None
    """A limit of the engine on the nesting that the schema allows."""
    max_table_nesting: int | None = None
    """The destination's nesting of tables that have none of their own, instead of the schema's."""
    merge_strategy: str | None = None
    """The merge strategy of tables that have none: the destination's default."""
    own_columns: frozenset[str] = frozenset()
    """System columns of a root table that have values in the data, besides the row id."""
    ignored_keys: frozenset[str] = frozenset()
    """Keys of root rows without a column."""
    type_limits: TypeLimits = _NO_LIMITS
    """The limits of the column types of the destination."""


def wider_type(
    current_type: DataType, evidence: Iterable[Evidence], *, is_stored: bool, options: InferenceOptions
) -> DataType | None:
    """Return a type that holds all values if the current one does not; None if no widening applies."""
    if options.type_evolution != "widen":
        return None
    values = tuple(evidence)
    misfit = next(value_type(value) for value in values if not fits_type(value, current_type))
    for to in WIDENINGS.get((current_type, misfit), ()):
        is_allowed = not is_stored or (current_type, to) in options.can_alter
        if is_allowed and all(fits_type(value, to) for value in values):
            return to
    return None


def fits_type(evidence: Evidence, to_type: DataType) -> bool:
    """Return whether a column of a type holds all these values."""
    kind = value_type(evidence)
    return kind == to_type or to_type in evidence.fits or is_always_convertible(kind, to_type)


def value_type(evidence: Evidence) -> DataType:
    """Return the data type of values that are not flattened: JSON for objects and lists."""
    match evidence.type:
        case "object" | "list":
            return "json"
        case "null":
            raise ValueError("a null has no type")
        case kind:
            return kind
