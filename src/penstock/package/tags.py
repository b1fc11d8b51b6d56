"""Type tags: the first character of a text that encodes a value without a JSON type.

Private-use characters: the first eight are those of dlt's typed JSON, in its order, the last two are ours.
Extract writes them and normalize removes them.
"""

from __future__ import annotations

from typing import Final

_ORDER = tuple(chr(0xF026 + index) for index in range(10))
DECIMAL, DATETIME, DATE, UUID, HEX, BYTES, WEI, TIME, NON_FINITE, ESCAPED_TEXT = _ORDER
"""`NON_FINITE`: NaN and the infinities. `ESCAPED_TEXT`: a user's text that begins with such a character."""

FIRST: Final = DECIMAL
LAST: Final = ESCAPED_TEXT
ALL: Final = frozenset(_ORDER)
