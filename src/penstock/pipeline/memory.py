"""What a pipeline remembers: its state and its schemas, with what waits to be loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import SchemaNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.pipeline.restore import Known
    from penstock.pipeline.state import State
    from penstock.schema import Schema

_LOCAL = "_local"


@dataclass(frozen=True, slots=True)
class Memory(Mapping[str, "Schema"]):
    """The schemas of a pipeline by their names, and its state; both are asked for anew each time."""

    known: Callable[[str | None], Known]
    """What is known by the name of a schema; None for the default one."""
    local: Callable[[], Mapping[str, Any]]
    """What this machine alone remembers."""
    stored: Callable[[], State]
    """The state of the last complete load."""

    @property
    def state(self) -> State:
        """The state, with the values of this machine."""
        return {**self.known(None).state, _LOCAL: dict(self.local())}

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that bring none."""
        return self.known(None).schema

    @property
    def is_new(self) -> bool:
        """Whether no load was ever complete: a state that was stored has a hash."""
        return "_version_hash" not in self.stored()

    def __getitem__(self, name: str) -> Schema:
        if name not in self._names():
            raise SchemaNotFoundError(schema_name=name, known=tuple(self._names()))
        return self.known(name).schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        names: list[str] = self.known(None).state["schema_names"]
        return names
