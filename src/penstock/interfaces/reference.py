"""A destination as a user names it: by its registered name, or with arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.interfaces.registry import find_destination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.config import Settings
    from penstock.interfaces.destination import DestinationSpec


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination with the arguments the user gave it; nothing is opened yet.

    >>> Destination.from_reference("delta").destination_name
    'delta'
    """

    spec: DestinationSpec
    arguments: Mapping[str, Any]

    @property
    def destination_name(self) -> str:
        """The name by which the registry knows it."""
        return self.spec.name

    def settings(self, settings: Settings, *, pipeline_name: str, master: str) -> Any:
        """The arguments completed from configuration and checked."""
        return self.spec.configure(
            self.arguments, settings=settings, pipeline_name=pipeline_name, master=master
        )

    @staticmethod
    def from_reference(reference: str | Destination) -> Destination:
        """A name means the destination without arguments."""
        if isinstance(reference, Destination):
            return reference
        return Destination(find_destination(reference), {})
