"""What responses tell of the pages that are left. Also runs where penstock is not installed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ResponseNotUnderstood
from penstock.sources.rest.paths import first, path_text

if TYPE_CHECKING:
    from penstock.interfaces.cursorpath import CursorPath

_SAID: Final = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}


def told_more(path: CursorPath, document: Any, who: object) -> bool:
    """Whether a response says that there is more: a truth value, or a word for one."""
    found = first(path, document)
    said = _SAID.get(found.lower()) if isinstance(found, str) else found
    if not isinstance(said, bool):
        raise ResponseNotUnderstood(
            paginator=str(who), path=path_text(path), wanted="true or false", found=_shown(found)
        )
    return said


def told_total(path: CursorPath, document: Any, who: object) -> int:
    """How many there are in all, as a response says it: a number, or a text of digits."""
    found = first(path, document)
    try:
        return int(found)
    except (TypeError, ValueError):
        raise ResponseNotUnderstood(
            paginator=str(who), path=path_text(path), wanted="a whole number", found=_shown(found)
        ) from None


def mark_of(*things: Any) -> bytes:
    """A short mark of values, by which they are known again without being kept.

    >>> mark_of("next", [{"id": 1}]) == mark_of("next", [{"id": 1}]) != mark_of("next", [{"id": 2}])
    True
    """
    return hashlib.sha256(repr(things).encode()).digest()


def _shown(found: Any) -> str:
    return "nothing" if found is None else f"a {type(found).__name__}"
