"""The names that the destination of the active pipeline can hold, for schemas that are created meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationNames:
    """The naming convention and the longest identifier of a destination; None where it has none."""

    convention: str | None = None
    max_length: int | None = None


class _Source:
    """The function that finds the names; set once, by the package of pipelines."""

    find: Callable[[], DestinationNames] = DestinationNames


def destination_names() -> DestinationNames:
    """Return the names of the active pipeline's destination.

    >>> destination_names()
    DestinationNames(convention=None, max_length=None)
    """
    return _Source.find()


def find_destination_names_by(find: Callable[[], DestinationNames]) -> None:
    """Set the function that finds the names: a schema knows no pipelines."""
    _Source.find = staticmethod(find)
