"""The decorators `@source`, `@resource`, `@transformer` and `@defer`."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from penstock.config import read_settings
from penstock.errors import UnsupportedData, UsageError
from penstock.interfaces.frames import frame_kind
from penstock.interfaces.hints import make_hints
from penstock.interfaces.source import DeclarationBase
from penstock.interfaces.work_items import RateLimit
from penstock.sources.factory import SourceFactory, SourceOptions
from penstock.sources.resource import Resource
from penstock.sources.section import module_section, sections_of
from penstock.sources.source import Source
from penstock.sources.source_reference import register_source
from penstock.sources.user_function import UserFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config import BaseConfiguration
    from penstock.interfaces.hints import NestedValues
    from penstock.schema import Schema

P = ParamSpec("P")
R = TypeVar("R")


class SourceArguments(TypedDict, total=False):
    """The arguments of `source`."""

    name: str | None
    section: str | None
    max_table_nesting: int | None
    root_key: bool | None
    schema: Schema | str | None
    schema_contract: Any
    spec: type[BaseConfiguration] | None
    parallelized: bool
    _impl_cls: type[Source]


class ResourceArguments(TypedDict, total=False):
    """The arguments of `resource` and `transformer`."""

    name: str | Callable[[Any], str] | None
    table_name: str | Callable[[Any], str] | None
    max_table_nesting: int | None
    write_disposition: Any
    columns: Any
    primary_key: Any
    merge_key: Any
    schema_contract: Any
    table_format: Any
    file_format: Any
    references: Any
    nested_hints: Any
    selected: bool
    spec: type[BaseConfiguration] | None
    parallelized: bool
    incremental: Any
    section: str | None
    standalone: bool | None
    data_from: Resource | None
    work_items: Any
    rate_limit: str | None
    nested: NestedValues | None
    _impl_cls: type[Resource]


@overload
def source(func: Callable[..., Any], /, **arguments: Unpack[SourceArguments]) -> SourceFactory: ...
@overload
def source(
    func: None = None, /, **arguments: Unpack[SourceArguments]
) -> Callable[[Callable[..., Any]], SourceFactory]: ...
def source(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    func: Callable[..., Any] | None = None,
    /,
    name: str | None = None,
    section: str | None = None,
    max_table_nesting: int | None = None,
    root_key: bool | None = None,  # noqa: FBT001 - as above
    schema: Schema | str | None = None,
    schema_contract: Any = None,
    spec: type[BaseConfiguration] | None = None,
    parallelized: bool = False,  # noqa: FBT001, FBT002 - as above
    _impl_cls: type[Source] = Source,
) -> Any:
    """Declare a source: a function that returns or yields resources.

    The source, its schema and its state have the name of the function, unless `name` is set.

    >>> @source
    ... def shop(limit=2):
    ...     return resource(range(limit), name="orders")
    >>> shop(3).orders
    <penstock.resource 'orders', write_disposition='append'>
    >>> list(shop(3))
    [0, 1, 2]
    """
    options = SourceOptions(
        name=name,
        section=section,
        max_table_nesting=max_table_nesting,
        root_key=root_key,
        schema=schema,
        schema_contract=schema_contract,
        spec=spec,
        parallelized=parallelized,
        cls=_impl_cls,
    )

    def declare(function: Callable[..., Any]) -> SourceFactory:
        return register_source(SourceFactory(function, options), options)

    return declare if func is None else declare(func)


@overload
def resource(
    data: None = None, /, **arguments: Unpack[ResourceArguments]
) -> Callable[[Callable[..., Any]], Resource]: ...
@overload
def resource(data: Any, /, **arguments: Unpack[ResourceArguments]) -> Resource: ...
def resource(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    data: Any = None,
    /,
    name: str | Callable[[Any], str] | None = None,
    table_name: str | Callable[[Any], str] | None = None,
    max_table_nesting: int | None = None,
    write_disposition: Any = None,
    columns: Any = None,
    primary_key: Any = None,
    merge_key: Any = None,
    schema_contract: Any = None,
    table_format: Any = None,
    file_format: Any = None,
    references: Any = None,
    nested_hints: Any = None,
    selected: bool = True,  # noqa: FBT001, FBT002 - as above
    spec: type[BaseConfiguration] | None = None,
    parallelized: bool = False,  # noqa: FBT001, FBT002 - as above
    incremental: Any = None,
    _impl_cls: type[Resource] = Resource,
    section: str | None = None,
    _base_spec: Any = None,
    standalone: bool | None = None,  # noqa: FBT001 - as above
    data_from: Resource | None = None,
    *,
    work_items: Any = None,
    rate_limit: str | None = None,
    nested: NestedValues | None = None,
) -> Any:
    """Declare a resource: a function that yields items, or data. An item is a row, or a list of rows.

    With `work_items`, a list, a range, a generator, a function that returns one, or a Spark DataFrame, the
    function is called once for each item, on the executors of Spark. Its first argument is the work item.
    `rate_limit`, such as "50/s", limits the calls of all executors together.

    With `nested="keep"` structs, lists and maps in frames are kept as columns and do not become tables.

    >>> @resource(primary_key="id")
    ... def orders(count=2):
    ...     for number in range(count):
    ...         yield {"id": number}
    >>> list(orders(1))
    [{'id': 0}]
    >>> list(resource([1, 2, 3], name="numbers").add_filter(lambda number: number > 1))
    [2, 3]
    >>> @resource(work_items=range(3))
    ... def squares(number):
    ...     yield {"number": number, "square": number**2}
    >>> sorted(row["square"] for row in squares)
    [0, 1, 4]
    """
    hints = make_hints(
        table_name=table_name,
        max_table_nesting=max_table_nesting,
        write_disposition=write_disposition,
        columns=columns,
        primary_key=primary_key,
        merge_key=merge_key,
        schema_contract=schema_contract,
        table_format=table_format,
        file_format=file_format,
        references=references,
        nested_hints=nested_hints,
        incremental=incremental,
        nested=nested,
    )

    def declare(definition: Any, *, is_transformer: bool = False) -> Any:
        if _returns_resource(definition):
            return _resource_factory(definition, spec=spec, section=section)
        declared = _impl_cls.from_data(
            definition,
            name=name if isinstance(name, str) else None,
            section=section,
            hints=hints,
            selected=selected,
            data_from=data_from,
            is_transformer=is_transformer,
            spec=spec,
            namer=name if callable(name) else None,
        )
        _set_work_items(declared, work_items, rate_limit)
        return declared.parallelize() if parallelized else declared

    return declare if data is None else declare(data)


@overload
def transformer(f: Callable[..., Any], /, **arguments: Unpack[ResourceArguments]) -> Resource: ...
@overload
def transformer(
    f: None = None, /, **arguments: Unpack[ResourceArguments]
) -> Callable[[Callable[..., Any]], Resource]: ...
def transformer(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    f: Callable[..., Any] | None = None,
    /,
    data_from: Resource | None = None,
    name: str | Callable[[Any], str] | None = None,
    table_name: str | Callable[[Any], str] | None = None,
    max_table_nesting: int | None = None,
    write_disposition: Any = None,
    columns: Any = None,
    primary_key: Any = None,
    merge_key: Any = None,
    schema_contract: Any = None,
    table_format: Any = None,
    file_format: Any = None,
    references: Any = None,
    nested_hints: Any = None,
    selected: bool = True,  # noqa: FBT001, FBT002 - as above
    spec: type[BaseConfiguration] | None = None,
    parallelized: bool = False,  # noqa: FBT001, FBT002 - as above
    section: str | None = None,
    standalone: bool | None = None,  # noqa: FBT001 - as above
    _impl_cls: type[Resource] = Resource,
    *,
    incremental: Any = None,
    work_items: Any = None,
    rate_limit: str | None = None,
    nested: NestedValues | None = None,
) -> Any:
    """Declare a transformer: a function that takes an item of another resource, and returns or yields items.

    It takes the arguments of `resource`. `data_from`, or `|`, names the resource that feeds it.

    >>> @transformer
    ... def details(number, factor=1):
    ...     yield {"number": number, "double": number * 2 * factor}
    >>> list(resource([1, 2], name="numbers") | details(factor=10))
    [{'number': 1, 'double': 20}, {'number': 2, 'double': 40}]
    """
    declare: Any = resource(
        None,
        name=name,
        table_name=table_name,
        max_table_nesting=max_table_nesting,
        write_disposition=write_disposition,
        columns=columns,
        primary_key=primary_key,
        merge_key=merge_key,
        schema_contract=schema_contract,
        table_format=table_format,
        file_format=file_format,
        references=references,
        nested_hints=nested_hints,
        selected=selected,
        spec=spec,
        parallelized=parallelized,
        incremental=incremental,
        section=section,
        standalone=standalone,
        data_from=data_from,
        work_items=work_items,
        rate_limit=rate_limit,
        nested=nested,
        _impl_cls=_impl_cls,
    )
    return partial(declare, is_transformer=True) if f is None else declare(f, is_transformer=True)


def defer(f: Callable[P, R]) -> Callable[P, Callable[[], R]]:
    """Make a function return a call that a thread of the extract stage runs later.

    Several calls that a resource yields run at once; the order of items may change.

    >>> @defer
    ... def page(number):
    ...     return [number, number + 1]
    >>> sorted(resource((page(number) for number in (0, 10)), name="pages"))
    [0, 1, 10, 11]
    """

    @wraps(f)
    def deferred(*args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
        return partial(f, *args, **kwargs)

    return deferred


def _returns_resource(data: Any) -> bool:
    """Return whether a function is annotated to return a resource: it is then called when it is declared."""
    if not inspect.isfunction(data):
        return False
    annotation = inspect.signature(data).return_annotation
    if isinstance(annotation, type):
        return issubclass(annotation, DeclarationBase)
    return isinstance(annotation, str) and annotation.rpartition(".")[2] in {"DltResource", "Resource"}


def _resource_factory(
    function: Callable[..., Resource], *, spec: type[BaseConfiguration] | None, section: str | None
) -> Callable[..., Resource]:
    sections = sections_of(section or module_section(function), function.__name__)

    @wraps(function)
    def make_resource(*args: Any, **kwargs: Any) -> Resource:
        bound = UserFunction(function=function, spec=spec).bind(*args, **kwargs)
        configured = bound.configured_function(
            resource=function.__name__, sections=sections, settings=cache(read_settings)
        )
        resource: Resource = configured()
        return resource

    return make_resource


def _set_work_items(resource: Resource, work_items: Any, rate_limit: str | None) -> None:
    """Let the function of a resource be called once per work item.

    Raise when the resource has no function that takes a work item.
    """
    if work_items is None:
        if rate_limit is not None:
            raise UsageError(
                f"{resource.name} has a rate limit but no work items",
                hint="declare what the function is called with: work_items=[...]",
            )
        return
    function = resource.declaration.user_function
    if function is None or resource.is_transformer:
        raise UsageError(
            f"{resource.name} is not a function that can be called with a work item",
            hint="declare a function whose first argument is the item; the items of a transformer come from "
            "its parent",
        )
    _check_work_items(work_items)
    item_function = replace(function, takes_item=True)
    item_function.signature  # noqa: B018 - raises when the function takes no item
    rate = None if rate_limit is None else RateLimit.parse(rate_limit)
    resource.change(user_function=item_function, work_items=work_items, rate=rate)


def _check_work_items(work_items: Any) -> None:
    if isinstance(work_items, DeclarationBase):
        raise UnsupportedData(
            data_type=type(work_items).__name__,
            reason="to process the items of another resource, declare a transformer",
        )
    kind = frame_kind(work_items)
    if kind == "spark":
        return
    is_single = isinstance(work_items, (str, bytes, dict, AsyncIterator)) or kind is not None
    if is_single or not (callable(work_items) or isinstance(work_items, Iterable)):
        raise UnsupportedData(
            data_type=type(work_items).__name__, reason="work items are a list, a range or a generator"
        )
