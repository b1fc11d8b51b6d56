"""`@source`, `@resource`, `@transformer` and `defer`: functions become declarations."""

from __future__ import annotations

import inspect
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

from penstock.config import read_settings
from penstock.interfaces.hints import make_hints
from penstock.interfaces.source import DeclarationBase
from penstock.sources.factory import SourceFactory, SourceOptions
from penstock.sources.resource import Resource
from penstock.sources.section import module_section, sections_of
from penstock.sources.source import Source
from penstock.sources.user_function import UserFunction
from penstock.sources.work_items import with_work_items

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config import BaseConfiguration
    from penstock.interfaces.hints import NestedValues
    from penstock.schema import Schema

P = ParamSpec("P")
R = TypeVar("R")


class SourceArguments(TypedDict, total=False):
    """What `source` can be told."""

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
    """What `resource` and `transformer` can be told."""

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

    The source, its schema and its state are called like the function, unless there is a `name`.

    >>> @source
    ... def shop(limit=2):
    ...     return resource(range(limit), name="orders")
    >>> shop(3).orders
    <penstock.resource 'orders', write_disposition='append'>
    >>> list(shop(3))
    [0, 1, 2]
    """
    terms = SourceOptions(
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
    if func is None:
        return lambda function: SourceFactory(function, terms)
    return SourceFactory(func, terms)


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

    With `work_items`, a list, a range, a generator, a function that gives one, or a Spark DataFrame, the
    function is called once for each of them, on the executors of Spark. Its first argument is the work item.
    `rate_limit` is how often it may be called by all of them together, such as "50/s".

    With `nested="keep"` structs, lists and maps in frames stay what they are, and become no tables.

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

    def declare(given: Any, *, is_transformer: bool = False) -> Any:
        if _returns_resource(given):
            return _resource_factory(given, spec=spec, section=section)
        made = _impl_cls.from_data(
            given,
            name=name if isinstance(name, str) else None,
            section=section,
            hints=hints,
            selected=selected,
            data_from=data_from,
            is_transformer=is_transformer,
            spec=spec,
            namer=name if callable(name) else None,
        )
        split = with_work_items(made, work_items, rate_limit)
        return split.parallelize() if parallelized else split

    return declare if data is None else declare(data)


@overload
def transformer(f: Callable[..., Any], /, **arguments: Unpack[ResourceArguments]) -> Resource: ...
@overload
def transformer(
    f: None = None, /, **arguments: Unpack[ResourceArguments]
) -> Callable[[Callable[..., Any]], Resource]: ...
def transformer(f: Callable[..., Any] | None = None, /, **arguments: Unpack[ResourceArguments]) -> Any:
    """Declare a transformer: a function that takes an item of another resource, and returns or yields items.

    It takes the arguments of `resource`. `data_from`, or `|`, says where its items come from.

    >>> @transformer
    ... def details(number, factor=1):
    ...     yield {"number": number, "double": number * 2 * factor}
    >>> list(resource([1, 2], name="numbers") | details(factor=10))
    [{'number': 1, 'double': 20}, {'number': 2, 'double': 40}]
    """
    declare: Any = resource(None, **arguments)
    return partial(declare, is_transformer=True) if f is None else declare(f, is_transformer=True)


def defer(f: Callable[P, R]) -> Callable[P, Callable[[], R]]:
    """Make a function give a call to be made later, in a thread of the extract stage.

    A resource that yields such calls has several of them running at once; the order of items may change.

    >>> @defer
    ... def page(number):
    ...     return [number, number + 1]
    >>> sorted(resource((page(number) for number in (0, 10)), name="pages"))
    [0, 1, 10, 11]
    """

    @wraps(f)
    def later(*args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
        return partial(f, *args, **kwargs)

    return later


def _returns_resource(data: Any) -> bool:
    """Whether a function says that it returns a resource: it is called at once then, not when extracted."""
    if not inspect.isfunction(data):
        return False
    said = inspect.signature(data).return_annotation
    if isinstance(said, type):
        return issubclass(said, DeclarationBase)
    return isinstance(said, str) and said.rpartition(".")[2] in {"DltResource", "Resource"}


def _resource_factory(
    function: Callable[..., Resource], *, spec: type[BaseConfiguration] | None, section: str | None
) -> Callable[..., Resource]:
    sections = sections_of(section or module_section(function), function.__name__)

    @wraps(function)
    def made(*args: Any, **kwargs: Any) -> Resource:
        call = UserFunction(function=function, spec=spec).bind(*args, **kwargs)
        opener = call.configured_function(
            resource=function.__name__, sections=sections, settings=cache(read_settings)
        )
        found: Resource = opener()
        return found

    return made
