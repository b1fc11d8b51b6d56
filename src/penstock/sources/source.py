"""The source: resources that share a schema, a state and a configuration section."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from penstock.errors import NotDuringRun
from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.flow_reader import read_flow
from penstock.interfaces.run_context import current_context
from penstock.interfaces.source import DeclarationBase, Flow
from penstock.schema.frozen_map import thaw
from penstock.sources.resource import Resource
from penstock.sources.resource_dict import ResourceDict
from penstock.sources.state import source_state
from penstock.sources.streams import streams_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.schema import Schema

_OWN_ATTRIBUTES = frozenset(("schema", "section", "_resources"))


class Source(DeclarationBase):
    """Resources under one name. Create one with `@penstock.source`.

    Resources are attributes, and items of `resources`. Nothing runs until it is extracted or iterated over.

    >>> from penstock.schema import Schema
    >>> shop = Source(Schema("shop"), "shop", [Resource.from_data([1, 2], name="items")])
    >>> shop.items.add_map(lambda item: item + 1).name, list(shop)
    ('items', [2, 3])
    """

    schema: Schema
    section: str

    def __init__(self, schema: Schema, section: str, resources: Iterable[Resource] = ()) -> None:
        self.schema, self.section = schema, section
        self._resources = ResourceDict(schema.name)
        self._resources.add(*resources)

    @property
    def name(self) -> str:
        """The name of the source, its schema and its state."""
        return self.schema.name

    @property
    def resources(self) -> ResourceDict:
        """All resources by name."""
        return self._resources

    @property
    def selected_resources(self) -> dict[str, Resource]:
        """The resources that are loaded."""
        return self._resources.selected

    @property
    def exhausted(self) -> bool:
        """Whether a resource reads from a generator that is already consumed."""
        return any(resource.exhausted for resource in self._resources.extracted)

    @property
    def state(self) -> dict[str, Any]:
        """The state of this source during a run of its pipeline."""
        return source_state(self.name)

    @property
    def max_table_nesting(self) -> int | None:
        """Levels of nesting that become tables and columns; deeper values are kept as JSON."""
        levels: int | None = self._normalizer_settings().get("max_nesting")
        return levels

    @max_table_nesting.setter
    def max_table_nesting(self, levels: int | None) -> None:
        self._set_normalizer_setting("max_nesting", levels)

    @property
    def root_key(self) -> bool | None:
        """Whether nested rows have the id of their root row; with None the write disposition decides."""
        value: bool | None = self._normalizer_settings().get("root_key_propagation")
        return value

    @root_key.setter
    def root_key(self, value: bool | None) -> None:
        self._set_normalizer_setting("root_key_propagation", value)

    @property
    def schema_contract(self) -> Any:
        """The schema contract of tables that do not declare one."""
        return thaw(self.schema.settings.get("schema_contract"))

    @schema_contract.setter
    def schema_contract(self, value: Any) -> None:
        self.schema.set_schema_contract(value)

    @property
    def run(self) -> Callable[..., Any]:
        """The `run` of the active pipeline, with this source as its data."""
        pipeline = current_context().pipeline
        if pipeline is None:
            raise NotDuringRun(what="a pipeline")
        return partial(pipeline.run, self)

    def with_resources(self, *resource_names: str) -> Self:
        """Return a copy that loads these resources and no others."""
        copy = self.clone()
        copy.resources.select(*resource_names)
        return copy

    def add_limit(
        self,
        max_items: int | None = None,
        max_time: float | None = None,
        count_rows: bool | None = False,  # noqa: FBT001, FBT002 - dlt's signature
    ) -> Self:
        """Limit every resource that is not a transformer."""
        for resource in self._resources.extracted:
            resource.add_limit(max_items, max_time, count_rows)
        return self

    def parallelize(self) -> Self:
        """Run all resources with a function or a generator in threads."""
        for resource in self._resources.selected.values():
            if resource.can_parallelize:
                resource.parallelize()
        return self

    def clone(self, with_name: str | None = None) -> Self:
        """Return a copy with copies of the resources; another name has a separate schema and state."""
        schema = self.schema.clone(with_name=with_name)
        return type(self)(schema, self.section, self._resources.values())

    def decompose(self, strategy: Literal["none", "scc"]) -> list[Self]:
        """Split into independent sources; resources with the same parent are kept together."""
        if strategy == "none":
            return [self]
        groups: dict[Resource, list[str]] = {}
        for name, resource in self._resources.selected.items():
            *_, root = resource.chain()
            groups.setdefault(root, []).append(name)
        return [self.with_resources(*names) for names in groups.values()]

    def discover_schema(self, item: Any = None) -> Schema:
        """Return the schema with the tables of the selected resources; hint functions get `item`."""
        schema = self.schema.clone()
        for resource in self._resources.selected.values():
            if item is None and resource.has_dynamic_table_name:
                continue
            hints = resource.hints.for_item(item)
            for table in declared_tables(hints, resource=resource.name, naming=schema.naming):
                schema.update_table(table, normalize_identifiers=False)
        return schema

    def flow(self) -> Flow:
        """Return the flow that extract reads."""
        return Flow(
            name=self.name,
            section=self.section,
            schema=self.schema.stored,
            streams=streams_of(self._resources.selected.values()),
            source=self,
        )

    def __iter__(self) -> Iterator[Any]:
        """Read the items of all selected resources without loading them."""
        return read_flow(self.flow())

    def __getattr__(self, name: str) -> Resource:
        resources: dict[str, Resource] = self.__dict__.get("_resources", {})
        if name in resources:
            return resources[name]
        raise AttributeError(f"source has no resource {name!r}; it has {', '.join(resources)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Resource) and name not in _OWN_ATTRIBUTES:
            self._resources[name] = value
        else:
            super().__setattr__(name, value)

    def _normalizer_settings(self) -> dict[str, Any]:
        json = self.schema.stored.normalizers.get("json", {})
        return dict(json.get("config", {}))

    def _set_normalizer_setting(self, key: str, value: Any) -> None:
        config = self._normalizer_settings()
        config.pop(key, None)
        if value is not None:
            config[key] = value
        stored = self.schema.stored
        json = {name: item for name, item in stored.normalizers.get("json", {}).items() if name != "config"}
        self.schema.update(stored.with_normalizers(json={**json, "config": config} if config else json))

    def __repr__(self) -> str:
        selected = len(self._resources.selected)
        return f"<penstock.source {self.name!r}, {selected} of {len(self._resources)} resources selected>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1]]
        for name, resource in self._resources.items():
            kind = "transformer" if resource.is_transformer else "resource"
            feeder = f", takes items from {resource.parent.name}" if resource.parent else ""
            lines.append(f"- {kind} {name}: {'selected' if resource.selected else 'not selected'}{feeder}")
        return "\n".join(lines)
