"""The settings of a destination that is a function: batches, and the arguments of the function."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, cast

from pydantic import Field, create_model

from penstock.config import BaseConfiguration, NotResolved, configspec, function_spec
from penstock.errors import UsageError
from penstock.interfaces import DestinationClientConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable

BatchFormat = Literal["typed-jsonl", "parquet"]
"""The form of a batch: a list of dicts, or Arrow."""
BatchPlace = Literal["driver", "executors"]
"""The process that calls the function."""
BATCH_ARGUMENTS: Final = ("load_id", "batch_number")
"""Arguments that identify a batch, for functions that have them."""
_ITEM_ARGUMENTS: Final = 2
_VARIADIC_KINDS: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@configspec
class FunctionConfiguration(DestinationClientConfiguration):
    """The settings of a function; a subclass for each function adds its arguments.

    >>> FunctionConfiguration().batch_size
    10
    """

    destination_type: ClassVar[str] = "dlt.destinations.destination"
    destination_name: Annotated[str | None, NotResolved()] = "destination"

    batch_size: Annotated[int, Field(ge=0)] = 10
    """The number of rows in a batch; 0: the function gets the paths of files."""
    loader_file_format: BatchFormat = "typed-jsonl"
    """Whether a batch is a list of dicts or an Arrow record batch; with `batch_size=0`, the file format."""
    skip_dlt_columns_and_tables: bool = True
    """Whether the function sees system columns and system tables."""
    where: BatchPlace = "driver"
    """The process that calls the function."""
    executor_seconds: Annotated[float, Field(gt=0)] = 30.0
    """On executors: the seconds after which the batches so far are recorded."""
    executor_tasks: Annotated[int | None, Field(gt=0)] = None
    """On executors: the number of parallel tasks; by default one for each slot of Spark."""


def configuration_class(
    function: Callable[..., Any], *, name: str, spec: type[BaseConfiguration] | None = None
) -> type[FunctionConfiguration]:
    """Return the class of the settings of a function; its configured arguments are fields.

    >>> def post_rows(items, table, url: str = "http://localhost"): ...
    >>> configuration_class(post_rows, name="post_rows").model_fields["url"].default
    'http://localhost'
    """
    _check_parameters(function)
    bases: tuple[type[BaseConfiguration], ...] = (FunctionConfiguration,)
    if spec is not None:
        bases = (spec,) if issubclass(spec, FunctionConfiguration) else (spec, FunctionConfiguration)
    inherited = {field for base in bases for field in base.model_fields}
    fields: dict[str, Any] = {
        field.name: (field.hint, ... if field.required else field.default)
        for field in function_spec(function).fields
        if field.name not in inherited and field.name not in BATCH_ARGUMENTS
    }
    fields["destination_name"] = (Annotated[str | None, NotResolved()], name)
    model = create_model(f"{function.__name__}_settings", __base__=bases, **fields)
    return cast("type[FunctionConfiguration]", model)


def function_arguments(function: Callable[..., Any], config: FunctionConfiguration) -> dict[str, Any]:
    """Return the configured arguments of a function."""
    names = list(inspect.signature(function).parameters)[_ITEM_ARGUMENTS:]
    return {name: getattr(config, name) for name in names if name in type(config).model_fields}


def batch_arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the arguments of a function that identify a batch.

    >>> def post_rows(items, table, batch_number): ...
    >>> batch_arguments(post_rows)
    ('batch_number',)
    """
    parameters = inspect.signature(function).parameters
    return tuple(name for name in BATCH_ARGUMENTS if name in parameters)


def _check_parameters(function: Callable[..., Any]) -> None:
    """Refuse a function that does not take items and table, or that needs arguments without a value."""
    parameters = list(inspect.signature(function).parameters.values())
    positional = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    is_variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if len(positional) < _ITEM_ARGUMENTS and not is_variadic:
        raise UsageError(
            f"{function.__name__} does not take items and table",
            hint="declare it as `def sink(items, table)`, with more arguments from the settings",
        )
    missing = [
        parameter.name
        for parameter in parameters[_ITEM_ARGUMENTS:]
        if parameter.default is parameter.empty
        and parameter.name not in BATCH_ARGUMENTS
        and parameter.kind not in _VARIADIC_KINDS
    ]
    if missing:
        raise UsageError(
            f"{function.__name__} has arguments without a value: {', '.join(missing)}",
            hint="use penstock.config.value or penstock.secrets.value as their default",
        )
