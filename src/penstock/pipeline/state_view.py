"""The state and the schemas of a pipeline as `Pipeline.state` and `Pipeline.schemas` show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import SchemaNotFoundError
from penstock.package.typed_json import from_typed
from penstock.pipeline.restore import local_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.state import State
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.pipeline.workspace import Workspace
    from penstock.schema import Schema

_LOCAL = "_local"


@dataclass(frozen=True, slots=True)
class StateView(Mapping[str, "Schema"]):
    """The schemas of a pipeline by their names, and its state, as they will be once all packages are loaded.

    Both are read again on each access.
    """

    unbound: UnboundPackages
    workspace: Workspace | None = None
    """None while the pipeline has no destination."""

    @property
    def state(self) -> State:
        """The state, with the values of this machine."""
        return {**self._snapshot().state, _LOCAL: self.local_values}

    @property
    def local_values(self) -> dict[str, Any]:
        """The values of this machine, which are never loaded."""
        values: dict[str, Any] = from_typed(self.unbound.pipeline.workdir.local_values())
        return values

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that name none."""
        return self._snapshot().schema

    @property
    def is_new(self) -> bool:
        """Whether no load was ever complete: a stored state has a hash."""
        return "_version_hash" not in self._stored_state()

    def __getitem__(self, name: str) -> Schema:
        if name not in self._schema_names():
            raise SchemaNotFoundError(schema_name=name, known=tuple(self._schema_names()))
        return self._snapshot(name).schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema_names())

    def __len__(self) -> int:
        return len(self._schema_names())

    def _schema_names(self) -> list[str]:
        names: list[str] = self._snapshot().state["schema_names"]
        return names

    def _snapshot(self, schema_name: str | None = None) -> PipelineSnapshot:
        if self.workspace is None:
            return self.unbound.snapshot_after_pending(schema_name)
        with self.workspace.client:
            return self.workspace.snapshot_after_pending(schema_name, self.unbound.packages)

    def _stored_state(self) -> State:
        """Return the state of the last complete load."""
        if self.workspace is None:
            return local_snapshot(self.unbound.pipeline).state
        with self.workspace.client:
            return self.workspace.snapshot().state
