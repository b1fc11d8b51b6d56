"""Names and values that tests load into SQL databases."""

from __future__ import annotations

from typing import Final

NAMES: Final = (
    'x"; DROP TABLE victims; --',
    "x'; DROP TABLE victims; --",
    "x`; DROP TABLE victims; --",
    "x); DROP TABLE victims; --",
    "$$; DROP TABLE victims; --",
    "%s",
    "%(id)s",
    "%",
    "$1",
    "?",
    ":name",
    "{}",
    "{name}",
    "back\\slash",
    "\\'; DROP TABLE victims; --",
    'quote"quote',
    '""',
    "new\nline",
    "tab\tname",
    "a.b",
    "public.victims",
    "select",
    "user",
    "ALL",
    "Ünï cödé",
    "\N{GRINNING FACE}",
    "/* comment */",
    "--",
    "E'\\x00'",
    "\\",
)
"""Names that would do damage where statements are built from texts."""
