"""Which columns of a table get a larger type, and whether Delta can give it to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from penstock.destinations.delta.ddl import TYPE_WIDENING
from penstock.errors import DestinationTerminalException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.types import DataType

ALTERABLE_TYPES: Final[frozenset[tuple[DataType, DataType]]] = frozenset(
    (("bigint", "decimal"), ("bigint", "wei"))
)
"""Types that columns can be changed from and to, rows and all."""

_INTEGER_TYPES: Final[Mapping[str, tuple[int, frozenset[str]]]] = {
    "TINYINT": (10, frozenset(("SMALLINT", "INT", "BIGINT", "DOUBLE"))),
    "SMALLINT": (10, frozenset(("INT", "BIGINT", "DOUBLE"))),
    "INT": (10, frozenset(("BIGINT", "DOUBLE"))),
    "BIGINT": (20, frozenset[str]()),
}
"""For each whole number the digits before the point that a decimal needs for it, and the types it fits."""
_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def can_widen(old_type: str, new_type: str) -> bool:
    """Whether Delta changes a column from one type to another and reads the files that are there.

    >>> can_widen("INT", "BIGINT"), can_widen("BIGINT", "DECIMAL(38,9)"), can_widen("BIGINT", "DOUBLE")
    (True, True, False)
    """
    wider, narrower = _DECIMAL.fullmatch(new_type), _DECIMAL.fullmatch(old_type)
    if old_type in _INTEGER_TYPES:
        digits, fits = _INTEGER_TYPES[old_type]
        return new_type in fits or (wider is not None and int(wider[1]) - int(wider[2]) >= digits)
    if narrower and wider:
        scales = int(narrower[2]), int(wider[2])
        whole = int(narrower[1]) - scales[0], int(wider[1]) - scales[1]
        return scales[1] >= scales[0] and whole[1] >= whole[0]
    return (old_type, new_type) == ("DATE", "TIMESTAMP_NTZ")


def wider_types(
    table: str, types: Mapping[str, tuple[str, str]], properties: Mapping[str, str]
) -> dict[str, str]:
    """The columns that get a larger type. A smaller one in the schema fits into what the table has."""
    found = {column: to for column, (has, to) in types.items() if can_widen(has, to)}
    if found and properties.get(TYPE_WIDENING) != "true":
        column = next(iter(found))
        has, to = types[column]
        raise DestinationTerminalException(
            f"{table}.{column} holds {has}, and rows with {to} come",
            hint=f"set the table property {TYPE_WIDENING} to true, if all its readers know such tables",
        )
    return found
