"""Destinations are found by entry point, ours and other people's alike."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from penstock.errors import UnknownDestination

if TYPE_CHECKING:
    from penstock.interfaces.destination import DestinationSpec

GROUP = "penstock.destinations"


def destination_names() -> tuple[str, ...]:
    """The names that `destination=` understands on this machine."""
    return tuple(sorted(entry.name for entry in entry_points(group=GROUP)))


def find_destination(name: str) -> DestinationSpec:
    """Load the declaration of a destination by its name.

    >>> find_destination("delta").name
    'delta'
    """
    for entry in entry_points(group=GROUP, name=name):
        spec: DestinationSpec = entry.load()
        return spec
    raise UnknownDestination(name=name, known=destination_names())
