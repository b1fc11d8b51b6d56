"""References to declared sources by a text: `module.function`, or the name of a source."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.errors import UnknownSourceReference
from penstock.sources.factory import SourceFactory, SourceOptions
from penstock.sources.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.config import BaseConfiguration
    from penstock.schema import Schema
    from penstock.sources.source import Source

_PACKAGES = ("sources", "penstock.sources")
"""The packages in which short references are searched: the one of the project, and that of penstock."""


class SourceReference:
    """A declared source by its reference; `@penstock.source` registers the sources of the process.

    >>> import penstock
    >>> @penstock.source
    ... def shop(limit=2):
    ...     return penstock.resource(range(limit), name="orders")
    >>> ref = f"{shop.__module__}.shop"
    >>> list(SourceReference.from_reference(ref, source_kwargs={"limit": 3}))
    [0, 1, 2]
    """

    SOURCES: ClassVar[dict[str, SourceReference]] = {}
    """The sources that were declared in this process, by reference."""

    def __init__(
        self,
        ref: str,
        SPEC: type[BaseConfiguration] | None,  # noqa: N803 - dlt's name
        factory: SourceFactory,
        section: str | None,
        name: str | None,
    ) -> None:
        self.ref, self.SPEC, self.factory, self.section, self.name = ref, SPEC, factory, section, name

    @classmethod
    def register(cls, ref_obj: SourceReference) -> None:
        """Register a source; one with the same reference is replaced."""
        cls.SOURCES[ref_obj.ref] = ref_obj

    @classmethod
    def find(cls, ref: str) -> SourceFactory:
        """Return the factory of a source, which may be in a module that is not imported yet.

        A resource is returned as the factory of a source with this resource. A `name` without dots means the
        source of this name in the module of this name, in `sources` or in `penstock.sources`.
        """
        candidates = [ref, *_long_references(ref)]
        for candidate in candidates:
            if candidate in cls.SOURCES:
                return cls.SOURCES[candidate].factory
            factory = _imported_factory(candidate)
            if factory is not None:
                return factory
        raise UnknownSourceReference(ref=ref, tried=tuple(candidates))

    @classmethod
    def from_reference(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        cls,
        ref: str,
        /,
        name: str | None = None,
        section: str | None = None,
        max_table_nesting: int | None = None,
        root_key: bool | None = None,  # noqa: FBT001 - as above
        schema: Schema | None = None,
        schema_contract: Any = None,
        spec: type[BaseConfiguration] | None = None,
        parallelized: bool | None = None,  # noqa: FBT001 - as above
        _impl_cls: type[Source] | None = None,
        source_args: Sequence[Any] | None = None,
        source_kwargs: Mapping[str, Any] | None = None,
    ) -> Source:
        """Return a source, called with `source_args` and `source_kwargs`; other arguments are its options."""
        factory = cls.find(ref).clone(
            name=name,
            section=section,
            max_table_nesting=max_table_nesting,
            root_key=root_key,
            schema=schema,
            schema_contract=schema_contract,
            spec=spec,
            parallelized=parallelized,
            _impl_cls=_impl_cls,
        )
        return factory(*(source_args or ()), **(source_kwargs or {}))


def register_source(factory: SourceFactory, options: SourceOptions) -> SourceFactory:
    """Register a declared source under its module and function, and return its factory."""
    function: Any = factory
    ref = f"{function.__module__}.{function.__name__}"
    SourceReference.register(
        SourceReference(ref, options.spec, factory, section=options.section, name=options.name)
    )
    return factory


def _long_references(ref: str) -> Iterator[str]:
    path = ref if "." in ref else f"{ref}.{ref}"
    if path.count(".") == 1:
        yield from (f"{package}.{path}" for package in _PACKAGES)


def _imported_factory(ref: str) -> SourceFactory | None:
    module_name, _, attribute = ref.rpartition(".")
    module = sys.modules.get(module_name)
    if module is None and module_name:
        try:
            module = import_module(module_name)
        except ModuleNotFoundError as error:
            if module_name != error.name and not module_name.startswith(f"{error.name}."):
                raise
    value = getattr(module, attribute, None)
    return _resource_factory(value) if isinstance(value, Resource) else _source_factory(value)


def _source_factory(value: Any) -> SourceFactory | None:
    return value if isinstance(value, SourceFactory) else None


def _resource_factory(resource: Resource) -> SourceFactory:
    """Return the factory of a source with one resource, called with the arguments of the resource."""

    def declare_resource(*args: Any, **kwargs: Any) -> Resource:
        return resource(*args, **kwargs) if args or kwargs else resource.clone()

    return SourceFactory(declare_resource, SourceOptions(name=resource.name, section=resource.section))
