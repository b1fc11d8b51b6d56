"""The resources of a source by name: copies of the declared resources, owned by the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from penstock.errors import ResourceNameTaken, ResourcesNotFound, UsageError
from penstock.sources.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.sources.declaration import Declaration


class ResourceCopies:
    """Copies of resources that are connected as the originals are.

    Transformers with one declaration and one parent are one, since `|` copies them: `a | b` and `a | b | c`
    call `b` once.
    """

    def __init__(self) -> None:
        # Includes parents that are not listed; a copy maps to itself.
        self._copies_by_original: dict[Resource, Resource] = {}
        # The declarations are kept, so that no other one gets their ids.
        self._transformers: dict[tuple[int, Resource], tuple[Declaration, Resource]] = {}

    def copy_all(self, resources: Iterable[Resource]) -> list[Resource]:
        """Return the copies in the order of the originals; a repeated original has one copy."""
        # Copies first, then parents: a transformer may precede the resource that feeds it.
        copies = [(self._copy(resource), resource.parent) for resource in resources]
        for copy, parent in copies:
            self._connect_parents(copy, parent)
        return [copy for copy, _ in copies]

    def _copy(self, resource: Resource) -> Resource:
        original = self._original(resource)
        if original not in self._copies_by_original:
            copy = original.clone()
            self._copies_by_original |= {original: copy, copy: copy}
        return self._copies_by_original[original]

    def _original(self, resource: Resource) -> Resource:
        """Return the first known resource of this declaration and this parent."""
        if resource in self._copies_by_original or resource.parent is None:
            return resource
        key = id(resource.declaration), self._original(resource.parent)
        _, original = self._transformers.setdefault(key, (resource.declaration, resource))
        return original

    def _connect_parents(self, copy: Resource, parent: Resource | None) -> None:
        while parent is not None:
            is_copied = self._original(parent) in self._copies_by_original
            parent_copy = self._copy(parent)
            copy.pipe_data_from(parent_copy)
            copy, parent = parent_copy, None if is_copied else parent.parent


class ResourceDict(dict[str, Resource]):
    """Resources by name, in the order of their declaration.

    A transformer is fed by the resource of the same source, so a change of that resource affects both.
    """

    def __init__(self, source_name: str) -> None:
        super().__init__()
        self._source_name = source_name
        self._copies = ResourceCopies()

    def add(self, *resources: Resource) -> None:
        """Add copies of resources; raise if a name is taken."""
        for copy in self._copies.copy_all(resources):
            if self.get(copy.name, copy) is not copy:
                raise ResourceNameTaken(resource=copy.name, source=self._source_name)
            super().__setitem__(copy.name, copy)

    def __setitem__(self, name: str, resource: Resource) -> None:
        if name != resource.name:
            raise UsageError(
                f"resource {resource.name!r} cannot be stored as {name!r}",
                hint="rename it with with_name first",
            )
        self.add(resource)

    def __delitem__(self, name: str) -> NoReturn:
        raise UsageError(
            f"{name} cannot be deleted from source {self._source_name}",
            hint="set selected=False of the resource, or name the others with source.with_resources(...)",
        )

    @property
    def selected(self) -> dict[str, Resource]:
        """The resources whose items are loaded."""
        return {name: resource for name, resource in self.items() if resource.selected}

    @property
    def extracted(self) -> list[Resource]:
        """The resources that are read: the selected ones and those that feed them."""
        chains = (resource.chain() for resource in self.selected.values())
        return list(dict.fromkeys(resource for chain in chains for resource in chain))

    @property
    def selected_dag(self) -> list[tuple[str, str]]:
        """The edges from parent to child among the extracted resources; a root has an edge to itself."""
        edges = [
            (resource.parent.name if resource.parent else resource.name, resource.name)
            for selected in self.selected.values()
            for resource in selected.chain()
        ]
        return list(dict.fromkeys(edges))

    def select(self, *resource_names: str) -> dict[str, Resource]:
        """Select these resources for loading and no others."""
        self._check_names(resource_names)
        for name, resource in self.items():
            resource.selected = name in resource_names
        return self.selected

    def detach(self, resource_name: str | None = None) -> Resource:
        """Return a copy of a resource, detached from the source; the name may be omitted for the only one."""
        if resource_name is None:
            if len(self) != 1:
                raise UsageError(
                    f"source {self._source_name} has {len(self)} resources",
                    hint="name the resource to detach",
                )
            resource_name = next(iter(self))
        self._check_names((resource_name,))
        return self[resource_name].clone()

    def _check_names(self, names: Iterable[str]) -> None:
        unknown = [name for name in names if name not in self]
        if unknown:
            raise ResourcesNotFound(
                source=self._source_name, unknown=", ".join(unknown), known=", ".join(self)
            )
