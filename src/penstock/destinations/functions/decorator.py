"""The decorator that makes a destination of a function."""

from __future__ import annotations

import functools
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast, overload

from penstock.destinations.functions.reference import FunctionReference
from penstock.destinations.functions.settings import configuration_class
from penstock.errors import UsageError
from penstock.interfaces import Destination

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config import BaseConfiguration
    from penstock.destinations.functions.settings import BatchFormat, BatchPlace
    from penstock.interfaces import TLoaderParallelismStrategy


@overload
def destination(func_or_name: str, /, **kwargs: Any) -> Destination: ...
@overload
def destination(func_or_name: Callable[..., Any], /, **kwargs: Any) -> Callable[..., Destination]: ...
@overload
def destination(
    func_or_name: None = None,
    /,
    *,
    loader_file_format: BatchFormat | None = None,
    batch_size: int | None = None,
    name: str | None = None,
    naming_convention: str | None = None,
    skip_dlt_columns_and_tables: bool | None = None,
    max_table_nesting: int | None = None,
    spec: type[BaseConfiguration] | None = None,
    max_parallel_load_jobs: int | None = None,
    loader_parallelism_strategy: TLoaderParallelismStrategy | None = None,
    where: BatchPlace | None = None,
    executor_seconds: float | None = None,
    executor_tasks: int | None = None,
    destination_callable: None = None,
    **kwargs: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Destination]]: ...
@overload
def destination(
    func_or_name: None = None, /, *, destination_callable: Callable[..., Any] | str, **kwargs: Any
) -> Destination: ...
def destination(
    func_or_name: Callable[..., Any] | str | None = None,
    /,
    *,
    name: str | None = None,
    spec: type[BaseConfiguration] | None = None,
    destination_callable: Callable[..., Any] | str | None = None,
    **kwargs: Any,
) -> Any:
    """Make a destination of a function that takes batches of rows: `@penstock.destination(batch_size=100)`.

    The function is called with the rows and the table. `batch_size` is the number of rows, 10 by default.
    With `loader_file_format="typed-jsonl"`, the default, they are a list of dicts with Python values; with
    `"parquet"` an Arrow record batch. With `batch_size=0` the function gets the path of a file.
    Other arguments of the function come from the settings, in the section `destination.<name>`, or from a
    call of the decorated function; `spec` may declare them. `name` is that of the function by default.

    By default names are not normalized (`naming_convention="direct"`), nested data is kept in the rows
    (`max_table_nesting=0`), and system columns and tables are not passed (`skip_dlt_columns_and_tables`).
    `max_parallel_load_jobs` and `loader_parallelism_strategy` limit how many tables are sent at once.
    `where="executors"` calls the function on the executors of Spark.

    Every row is sent at least once. A batch always has the same number and the same rows, and a batch that
    was sent is recorded before the next one begins. So after an error or the death of the process only the
    batch in flight is sent again; on executors those since the last record. A function with the arguments
    `load_id` and `batch_number` gets the identity of a batch within its table; if it ignores a batch that it
    knows, every row arrives exactly once.

    An error of the function is retried, as of any other job; `DestinationTerminalException` fails the job.

    With a name instead of a function, return the destination of that name: a registered one, or one of the
    type `destination_type`.

    >>> @destination(batch_size=100, name="api")
    ... def post_rows(items, table, url: str = "http://localhost"):
    ...     print(len(items), table["name"], url)
    >>> post_rows(url="http://example.com").arguments
    {'batch_size': 100, 'url': 'http://example.com'}
    >>> destination("lake", destination_type="delta").destination_description
    'lake (penstock.destinations.delta)'
    """
    given = {key: value for key, value in kwargs.items() if value is not None}
    if isinstance(func_or_name, str):
        return _named_destination(func_or_name, name, given)
    if destination_callable is not None:
        destination_name = given.pop("destination_name", name)
        return _factory(_imported_function(destination_callable), destination_name, spec, given)()
    if func_or_name is None:
        return functools.partial(_factory, name=name, spec=spec, arguments=given)
    return _factory(func_or_name, name, spec, given)


def _named_destination(reference: str, name: str | None, arguments: dict[str, Any]) -> Destination:
    destination_type: str | None = arguments.pop("destination_type", None)
    if destination_type is not None:
        return Destination.from_reference(destination_type, destination_name=name or reference, **arguments)
    return Destination.from_reference(reference, destination_name=name, **arguments)


def _factory(
    function: Callable[..., Any],
    name: str | None,
    spec: type[BaseConfiguration] | None,
    arguments: dict[str, Any],
) -> Callable[..., Destination]:
    """Return a function that creates the destination; its arguments are those of the user's function."""
    destination_name = name or function.__name__
    settings = configuration_class(function, name=destination_name, spec=spec)
    decorated = Destination(
        destination_name,
        FunctionReference(function, settings),
        arguments,
        destination_type=f"{function.__module__}.{function.__qualname__}",
    )

    @functools.wraps(function)
    def create(
        *, destination_name: str | None = None, environment: str | None = None, **arguments: Any
    ) -> Destination:
        return Destination.from_reference(
            decorated, destination_name=destination_name, environment=environment, **arguments
        )

    return create


def _imported_function(function: Callable[..., Any] | str) -> Callable[..., Any]:
    if not isinstance(function, str):
        return cast("Callable[..., Any]", inspect.unwrap(function))
    module_name, _, attribute = function.rpartition(".")
    if not module_name:
        raise UsageError(
            f"destination_callable {function!r} is no dotted path", hint="name it as 'my_package.my_function'"
        )
    return cast("Callable[..., Any]", inspect.unwrap(getattr(import_module(module_name), attribute)))
