"""Names that fit: cut in the middle, told apart by a tag of what they were."""

from __future__ import annotations

import base64
from hashlib import shake_128
from typing import Final

from penstock.errors import InvalidIdentifier

TAG_LENGTH: Final = 6
_TAG_BYTES: Final = 4
_TAG_LETTERS: Final = str.maketrans("/+", "ab")


def hash_tag(identifier: str) -> str:
    """Six lower-case letters and digits that depend on nothing but `identifier`."""
    digest = shake_128(identifier.encode("utf-8", "surrogatepass")).digest(_TAG_BYTES)
    return base64.b64encode(digest).decode("ascii").rstrip("=").translate(_TAG_LETTERS).lower()


def shorten(name: str, *, original: str, max_length: int | None) -> str:
    """Give `name`, or when it is too long its head and tail with the tag of `original` between them.

    The tag comes from the original and not from the name, so that two long keys that differ only in what
    normalising removes do not become one column.
    """
    if max_length is None or len(name) <= max_length:
        return name
    room = _length_beside_tag(name, max_length=max_length)
    head, tail = room - room // 2, room // 2
    return name[:head] + hash_tag(original) + name[len(name) - tail :]


def append_tag(name: str, *, original: str, max_length: int | None) -> str:
    """Append the tag of `original` to `name`, giving up the end of the name where both do not fit.

    Where even the underscore does not fit, the tag alone is the name.
    """
    tag = hash_tag(original)
    if max_length is None:
        return f"{name}_{tag}"
    room = _length_beside_tag(name, max_length=max_length) - 1
    # An underscore left at the cut would make `__`, which is a path.
    head = name[: max(room, 0)].rstrip("_")
    return f"{head}_{tag}" if head else tag


def _length_beside_tag(name: str, *, max_length: int) -> int:
    room = max_length - TAG_LENGTH
    if room < 0:
        reason = f"it must be cut to {max_length} characters, and its tag alone needs {TAG_LENGTH}"
        raise InvalidIdentifier(identifier=name, reason=reason)
    return room
