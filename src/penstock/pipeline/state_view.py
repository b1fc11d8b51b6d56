"""What a pipeline remembers: its state and its schemas, with what waits to be loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import SchemaNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.state import State
    from penstock.schema import Schema

_LOCAL = "_local"


@dataclass(frozen=True, slots=True)
class StateView(Mapping[str, "Schema"]):
    """The schemas of a pipeline by their names, and its state; both are asked for anew each time."""

    snapshot_of: Callable[[str | None], PipelineSnapshot]
    """What is known by the name of a schema; None for the default one."""
    local_values: Callable[[], Mapping[str, Any]]
    """What this machine alone remembers."""
    stored_state: Callable[[], State]
    """The state of the last complete load."""

    @property
    def state(self) -> State:
        """The state, with the values of this machine."""
        return {**self.snapshot_of(None).state, _LOCAL: dict(self.local_values())}

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that bring none."""
        return self.snapshot_of(None).schema

    @property
    def is_new(self) -> bool:
        """Whether no load was ever complete: a state that was stored has a hash."""
        return "_version_hash" not in self.stored_state()

    def __getitem__(self, name: str) -> Schema:
        if name not in self._schema_names():
            raise SchemaNotFoundError(schema_name=name, known=tuple(self._schema_names()))
        return self.snapshot_of(name).schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema_names())

    def __len__(self) -> int:
        return len(self._schema_names())

    def _schema_names(self) -> list[str]:
        names: list[str] = self.snapshot_of(None).state["schema_names"]
        return names
