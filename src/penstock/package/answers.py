"""What the answers of an object store mean: taken, not now, or something that would come again."""

from __future__ import annotations

from typing import Final

_TAKEN: Final = 412
_NOT_NOW: Final = frozenset((408, 409, 429))
_SERVER: Final = 500
_NEVER: Final = 501


def status_of(error: BaseException) -> int | None:
    """The HTTP status that a client library got, where its error says so."""
    response = getattr(error.__cause__, "response", None)
    found = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    status = found.get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def is_taken(error: OSError) -> bool:
    """Whether the store says that a name is taken."""
    return isinstance(error, FileExistsError) or status_of(error) == _TAKEN


def not_now(error: OSError) -> str | None:
    """What a store said that may do later what it did not do now: busy, broken or cut off; else None."""
    if isinstance(error, TimeoutError | ConnectionError):
        return f"{type(error).__name__}: {error}"
    status = status_of(error)
    if status is None or status == _NEVER or (status < _SERVER and status not in _NOT_NOW):
        return None
    return str(error.__cause__)
