r"""Identifiers and literals of Spark SQL: the only functions that put a name or a text into SQL.

A literal is safe in every session with Spark's default escapes: an escape in `${` prevents variable
substitution. An identifier cannot be escaped so. SQL with identifiers from data runs only in sessions without
substitution, see `SQL_TEXT_CONF` of `spark.presets`.
"""

from __future__ import annotations

import re
from typing import Final

# Spark reads `\0` and two octal digits as one character, so control characters are written with four digits.
_ESCAPED: Final = re.compile(r"['\\\x00-\x1f\x7f]|(?<=\$)\{")
_WITH_BACKSLASH: Final = frozenset("'\\{")


def quote_name(*parts: str) -> str:
    """Quote an identifier, or a path of identifiers.

    >>> quote_name("row", "odd `key`.x")
    '`row`.`odd ``key``.x`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def literal(text: str) -> str:
    r"""Return a text as a literal.

    >>> print(literal("it's"), literal("${env:HOME}"), literal("a\nb"))
    'it\'s' '$\{env:HOME}' 'a\u000ab'
    """
    return f"'{_ESCAPED.sub(_escape, text)}'"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return f"\\{character}" if character in _WITH_BACKSLASH else f"\\u{ord(character):04x}"
