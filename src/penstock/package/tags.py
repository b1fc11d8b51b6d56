"""One-character marks before texts that stand for values JSON has no type for.

Private-use characters: the first eight are those of dlt's typed JSON, in its order, the last two are ours.
Extract writes them, normalize reads them, and no value keeps one.
"""

from __future__ import annotations

from typing import Final

_ORDER = tuple(chr(0xF026 + index) for index in range(10))
DECIMAL, DATETIME, DATE, UUID, HEX, BYTES, WEI, TIME, NON_FINITE, ESCAPED_TEXT = _ORDER
"""`NUMBER`: NaN and the infinities. `TEXT`: a text of the user's that begins like a mark."""

FIRST: Final = DECIMAL
LAST: Final = ESCAPED_TEXT
ALL: Final = frozenset(_ORDER)
