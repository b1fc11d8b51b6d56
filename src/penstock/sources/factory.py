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
from penstock.interfaces.run_context import override_context
from penstock.schema import Schema
from penstock.schema.schema_file import schema_file_name
from penstock.sources.resource import Resource
from penstock.sources.section import module_file, module_section, sections_of
from penstock.sources.source import Source
from penstock.sources.user_function import UserFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config import BaseConfiguration

_SCHEMA_FORMATS: Final[tuple[Literal["yaml", "json"], ...]] = ("yaml", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
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

    def __init__(self, function: Callable[..., Any], options: SourceOptions) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options

    @property
    def name(self) -> str:
        """The name of the sources that this makes."""
        given = self._options.schema
        named = given.name if isinstance(given, Schema) else None
        return self._options.name or named or self._function.__name__

    @property
    def section(self) -> str:
        """The section of the configuration in which arguments are looked for."""
        return self._options.section or module_section(self._function) or self.name

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
        return SourceFactory(self._function, replace(self._options, **changes))

    with_args = clone

    def __call__(self, *args: Any, **kwargs: Any) -> Source:
        """Call the function, and make a source of the resources that it gives or yields.

        Of a coroutine function this is a coroutine, which gives the source.
        """
        call = UserFunction(function=self._function, spec=self._options.spec).bind(*args, **kwargs)
        sections = sections_of(self.section, self.name)
        opener = call.configured_function(
            resource=self.name, sections=sections, settings=cache(read_settings)
        )
        schema = self._find_schema()
        if inspect.iscoroutinefunction(self._function):
            return cast("Source", self._call_async(opener, schema))
        with self._in_context(schema):
            return self._build_source(opener(), schema)

    async def _call_async(self, function: Callable[..., Any], schema: Schema) -> Source:
        with self._in_context(schema):
            return self._build_source(await function(), schema)

    @contextmanager
    def _in_context(self, schema: Schema) -> Iterator[None]:
        sections = sections_of(self.section, self.name)
        with override_context(source_name=self.name, schema=schema), in_scope(sections=sections):
            yield

    def _build_source(self, result: Any, schema: Schema) -> Source:
        if isinstance(result, Source):
            return result
        source = self._options.cls(schema, self.section, _as_resources(result, self.name))
        for term in ("max_table_nesting", "root_key", "schema_contract"):
            if getattr(self._options, term) is not None:
                setattr(source, term, getattr(self._options, term))
        return source.parallelize() if self._options.parallelized else source

    def _find_schema(self) -> Schema:
        """The schema that was given, the file of it beside the module, or a new one."""
        given = self._options.schema
        if isinstance(given, Schema):
            return given.clone(with_name=self.name)
        file = module_file(self._function)
        beside = [file.parent / schema_file_name(self.name, kind) for kind in _SCHEMA_FORMATS] if file else []
        for path in [Path(given)] if given is not None else beside:
            if given is not None or path.is_file():
                return Schema.from_text(path.read_text(encoding="utf-8")).clone(with_name=self.name)
        return Schema(self.name)

    def __repr__(self) -> str:
        return f"<@penstock.source {self.name!r}>"


def _as_resources(result: Any, name: str) -> list[Resource]:
    if result is None:
        raise UnsupportedData(data_type="source", reason=f"{name} gave no resources, not even an empty list")
    is_one = isinstance(result, Resource) or callable(result) or not isinstance(result, Iterable)
    found = [result] if is_one else list(result)
    return [one if isinstance(one, Resource) else Resource.from_data(one) for one in found]
