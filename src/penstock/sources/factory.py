"""What `@source` makes of a function: calling it gives a source."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from penstock.config import in_scope, read_settings
from penstock.errors import UnsupportedData
from penstock.interfaces.current import during
from penstock.schema import Schema
from penstock.schema.imports import schema_file_name
from penstock.sources.call import Call
from penstock.sources.resource import Resource
from penstock.sources.section import module_file, module_section, sections_of
from penstock.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config import BaseConfiguration

_FORMATS: Final[tuple[Literal["yaml", "json"], ...]] = ("yaml", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTerms:
    """What is said of a source, beside its function."""

    name: str | None = None
    section: str | None = None
    max_table_nesting: int | None = None
    root_key: bool | None = None
    schema: Schema | str | Path | None = None
    schema_contract: Any = None
    spec: type[BaseConfiguration] | None = None
    parallelized: bool = False
    cls: type[Source] = field(default=Source)


class SourceFactory:
    """A function that gives resources; calling it gives a source with them."""

    def __init__(self, function: Callable[..., Any], terms: SourceTerms) -> None:
        update_wrapper(self, function)
        self._function, self._terms = function, terms

    @property
    def name(self) -> str:
        """The name of the sources that this makes."""
        given = self._terms.schema
        named = given.name if isinstance(given, Schema) else None
        return self._terms.name or named or self._function.__name__

    @property
    def section(self) -> str:
        """The section of the configuration in which arguments are looked for."""
        return self._terms.section or module_section(self._function) or self.name

    def clone(
        self,
        *,
        name: str | None = None,
        section: str | None = None,
        max_table_nesting: int | None = None,
        root_key: bool | None = None,
        schema: Schema | str | None = None,
        schema_contract: Any = None,
        spec: type[BaseConfiguration] | None = None,
        parallelized: bool | None = None,
        _impl_cls: type[Source] | None = None,
    ) -> SourceFactory:
        """Copy with other terms: a source of another name has another schema and another state."""
        said = {
            "name": name,
            "section": section,
            "max_table_nesting": max_table_nesting,
            "root_key": root_key,
            "schema": schema,
            "schema_contract": schema_contract,
            "spec": spec,
            "parallelized": parallelized,
            "cls": _impl_cls,
        }
        changes: dict[str, Any] = {key: value for key, value in said.items() if value is not None}
        return SourceFactory(self._function, replace(self._terms, **changes))

    with_args = clone

    def __call__(self, *args: Any, **kwargs: Any) -> Source:
        """Call the function, and make a source of the resources that it gives or yields.

        Of a coroutine function this is a coroutine, which gives the source.
        """
        call = Call(function=self._function, spec=self._terms.spec).bind(*args, **kwargs)
        sections = sections_of(self.section, self.name)
        opener = call.opener(resource=self.name, sections=sections, settings=cache(read_settings))
        schema = self._schema()
        if inspect.iscoroutinefunction(self._function):
            return cast("Source", self._later(opener, schema))
        with self._at_hand(schema):
            return self._source(opener(), schema)

    async def _later(self, opener: Callable[..., Any], schema: Schema) -> Source:
        with self._at_hand(schema):
            return self._source(await opener(), schema)

    @contextmanager
    def _at_hand(self, schema: Schema) -> Iterator[None]:
        sections = sections_of(self.section, self.name)
        with during(source_name=self.name, schema=schema), in_scope(sections=sections):
            yield

    def _source(self, given: Any, schema: Schema) -> Source:
        if isinstance(given, Source):
            return given
        source = self._terms.cls(schema, self.section, _resources(given, self.name))
        for term in ("max_table_nesting", "root_key", "schema_contract"):
            if getattr(self._terms, term) is not None:
                setattr(source, term, getattr(self._terms, term))
        return source.parallelize() if self._terms.parallelized else source

    def _schema(self) -> Schema:
        """The schema that was given, the file of it beside the module, or a new one."""
        given = self._terms.schema
        if isinstance(given, Schema):
            return given.clone(with_name=self.name)
        file = module_file(self._function)
        beside = [file.parent / schema_file_name(self.name, kind) for kind in _FORMATS] if file else []
        for path in [Path(given)] if given is not None else beside:
            if given is not None or path.is_file():
                return Schema.from_text(path.read_text(encoding="utf-8")).clone(with_name=self.name)
        return Schema(self.name)

    def __repr__(self) -> str:
        return f"<@penstock.source {self.name!r}>"


def _resources(given: Any, name: str) -> list[Resource]:
    if given is None:
        raise UnsupportedData(data_type="source", reason=f"{name} gave no resources, not even an empty list")
    is_one = isinstance(given, Resource) or callable(given) or not isinstance(given, Iterable)
    found = [given] if is_one else list(given)
    return [one if isinstance(one, Resource) else Resource.from_data(one) for one in found]
