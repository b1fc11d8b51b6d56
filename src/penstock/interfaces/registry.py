"""Destinations are found by entry point, ours and other people's alike."""

from __future__ import annotations

from importlib.metadata import entry_points

from penstock.errors import InvalidDestinationReference, UnknownDestination
from penstock.interfaces.reference import DestinationReference

ENTRY_POINT_GROUP = "penstock.destinations"


def destination_names() -> tuple[str, ...]:
    """The names that `destination=` understands on this machine."""
    return tuple(sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)))


def find_destination(name: str) -> DestinationReference:
    """Load what is registered under a name.

    >>> find_destination("delta").spec().__name__
    'DeltaConfiguration'
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        reference = entry.load()
        if not isinstance(reference, DestinationReference):
            raise InvalidDestinationReference(name=name, found=f"a {type(reference).__name__}")
        return reference
    raise UnknownDestination(name=name, known=destination_names())
