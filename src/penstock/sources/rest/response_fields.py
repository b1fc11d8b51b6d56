"""What responses tell of the pages that are left. Also runs where penstock is not installed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ResponseNotUnderstood
from penstock.sources.rest.json_paths import first_value, path_text

if TYPE_CHECKING:
    from penstock.interfaces.cursorpath import CursorPath

_BOOLEAN_WORDS: Final = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}


def has_more_pages(path: CursorPath, document: Any, paginator: object) -> bool:
    """Whether a response says that there is more: a truth value, or a word for one."""
    found = first_value(path, document)
    said = _BOOLEAN_WORDS.get(found.lower()) if isinstance(found, str) else found
    if not isinstance(said, bool):
        raise ResponseNotUnderstood(
            paginator=str(paginator), path=path_text(path), wanted="true or false", found=_type_label(found)
        )
    return said


def total_count(path: CursorPath, document: Any, paginator: object) -> int:
    """How many there are in all, as a response says it: a number, or a text of digits."""
    found = first_value(path, document)
    try:
        return int(found)
    except (TypeError, ValueError):
        raise ResponseNotUnderstood(
            paginator=str(paginator), path=path_text(path), wanted="a whole number", found=_type_label(found)
        ) from None


def fingerprint(*values: Any) -> bytes:
    """A short mark of values, by which they are known again without being kept.

    >>> fingerprint("next", [{"id": 1}]) == fingerprint("next", [{"id": 1}])
    True
    >>> fingerprint("next", [{"id": 1}]) == fingerprint("next", [{"id": 2}])
    False
    """
    return hashlib.sha256(repr(values).encode()).digest()


def _type_label(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
