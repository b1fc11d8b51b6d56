"""The source factory that `@source` returns."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from penstock.config import in_scope, read_settings
from penstock.errors import UnsupportedData, UsageError
from penstock.interfaces.run_context import override_context
from penstock.interfaces.source import DeclarationBase
from penstock.schema import Schema
from penstock.schema.document import schema_file_name
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
    """The options of a source beside its function."""

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
    """A function of resources; a call returns a source with these resources."""

    def __init__(self, function: Any, options: SourceOptions) -> None:
        if isinstance(function, DeclarationBase) or not callable(function):
            raise UsageError(
                f"a source needs a function, got {function!r}",
                hint="decorate a function that returns or yields resources",
            )
        update_wrapper(self, function)
        self._function: Callable[..., Any] = function
        self._options = options

    @property
    def name(self) -> str:
        """The name of the sources that this creates."""
        schema = self._options.schema
        schema_name = schema.name if isinstance(schema, Schema) else None
        return self._options.name or schema_name or self._function.__name__

    @property
    def section(self) -> str:
        """The configuration section in which arguments are looked up."""
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
        """Return a copy with other options; a source of another name has another schema and state."""
        options = {
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
        changes: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
        return SourceFactory(self._function, replace(self._options, **changes))

    with_args = clone

    def __call__(self, *args: Any, **kwargs: Any) -> Source:
        """Call the function and return a source of the resources that it returns or yields.

        For a coroutine function, return a coroutine of the source.
        """
        bound = UserFunction(function=self._function, spec=self._options.spec).bind(*args, **kwargs)
        sections = sections_of(self.section, self.name)
        configured = bound.configured_function(
            resource=self.name, sections=sections, settings=cache(read_settings)
        )
        schema = self._find_schema()
        if inspect.iscoroutinefunction(self._function):
            return cast("Source", self._call_async(configured, schema))
        with self._in_context(schema):
            return self._build_source(configured(), schema)

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
        for option in ("max_table_nesting", "root_key", "schema_contract"):
            if getattr(self._options, option) is not None:
                setattr(source, option, getattr(self._options, option))
        return source.parallelize() if self._options.parallelized else source

    def _find_schema(self) -> Schema:
        """Return the declared schema, the schema file beside the module, or a new schema."""
        declared = self._options.schema
        if isinstance(declared, Schema):
            return declared.clone(with_name=self.name)
        file = module_file(self._function)
        defaults = (
            [file.parent / schema_file_name(self.name, kind) for kind in _SCHEMA_FORMATS] if file else []
        )
        for path in [Path(declared)] if declared is not None else defaults:
            if declared is not None or path.is_file():
                return Schema.from_text(path.read_text(encoding="utf-8")).clone(with_name=self.name)
        return Schema(self.name)

    def __repr__(self) -> str:
        return f"<@penstock.source {self.name!r}>"


def _as_resources(result: Any, name: str) -> list[Resource]:
    if result is None:
        raise UnsupportedData(
            data_type="source", reason=f"{name} returned None instead of resources or an empty list"
        )
    is_single = isinstance(result, Resource) or callable(result) or not isinstance(result, Iterable)
    items = [result] if is_single else list(result)
    return [item if isinstance(item, Resource) else Resource.from_data(item) for item in items]
