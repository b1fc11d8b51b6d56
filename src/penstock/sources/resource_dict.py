"""The resources of a source, by name: copies of what was declared, which belong to the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ResourceNameTaken, ResourcesNotFound, UsageError
from penstock.sources.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterable


class ResourceCopies:
    """Copies of resources that feed each other as the originals do."""

    def __init__(self) -> None:
        # Also of parents that are not listed; a copy is its own copy.
        self._copies_by_original: dict[Resource, Resource] = {}

    def copy_all(self, resources: Iterable[Resource]) -> list[Resource]:
        """The copies, in the order of the originals; the same original has one copy."""
        # All of them first, then their parents: a transformer may come before what feeds it.
        made = [(self._copy(one), one.parent) for one in resources]
        for copy, parent in made:
            self._connect_parents(copy, parent)
        return [copy for copy, _ in made]

    def _copy(self, resource: Resource) -> Resource:
        if resource not in self._copies_by_original:
            copy = resource.clone()
            self._copies_by_original |= {resource: copy, copy: copy}
        return self._copies_by_original[resource]

    def _connect_parents(self, copy: Resource, parent: Resource | None) -> None:
        while parent is not None:
            is_known = parent in self._copies_by_original
            above = self._copy(parent)
            copy.pipe_data_from(above)
            copy, parent = above, None if is_known else parent.parent


class ResourceDict(dict[str, Resource]):
    """Resources by name, in the order they were declared.

    A transformer is fed by the resource of the same source, so what is done to that one counts for both.
    """

    def __init__(self, source_name: str) -> None:
        super().__init__()
        self._source_name = source_name
        self._copies = ResourceCopies()

    def add(self, *resources: Resource) -> None:
        """Take in copies; a name can be there once."""
        for copy in self._copies.copy_all(resources):
            if self.get(copy.name, copy) is not copy:
                raise ResourceNameTaken(resource=copy.name, source=self._source_name)
            super().__setitem__(copy.name, copy)

    def __setitem__(self, name: str, resource: Resource) -> None:
        if name != resource.name:
            raise UsageError(
                f"resource {resource.name!r} cannot stand as {name!r}", hint="rename it with with_name first"
            )
        self.add(resource)

    @property
    def selected(self) -> dict[str, Resource]:
        """Those whose items are loaded."""
        return {name: one for name, one in self.items() if one.selected}

    @property
    def extracted(self) -> list[Resource]:
        """Those that are read: the selected ones, and what feeds them."""
        return list(dict.fromkeys(one for chosen in self.selected.values() for one in chosen.chain()))

    @property
    def selected_dag(self) -> list[tuple[str, str]]:
        """Who feeds whom among those that are read; a resource that feeds itself is a beginning."""
        edges = [
            (one.parent.name if one.parent else one.name, one.name)
            for chosen in self.selected.values()
            for one in chosen.chain()
        ]
        return list(dict.fromkeys(edges))

    def select(self, *resource_names: str) -> dict[str, Resource]:
        """Load these and no others."""
        self._check_names(resource_names)
        chosen = frozenset(resource_names)
        for name, resource in self.items():
            resource.selected = name in chosen
        return self.selected

    def detach(self, resource_name: str | None = None) -> Resource:
        """A copy of a resource that does not belong to this source; without a name of the only one."""
        if resource_name is None:
            if len(self) != 1:
                raise UsageError(
                    f"source {self._source_name} has {len(self)} resources", hint="name the one to detach"
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
