"""Arguments of decorated functions from configuration."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from penstock.config.lookup import ConfigLocation, Sections
from penstock.config.resolution import CALL, LookupContext, raise_missing, resolve_fields
from penstock.config.scope import scope
from penstock.config.settings import read_settings
from penstock.config.signature import ConfigValue, FunctionSpec, function_spec
from penstock.errors import ConfigFieldMissing
from penstock.redaction import remember_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config.settings import Settings
    from penstock.config.specs import BaseConfiguration

P = ParamSpec("P")
R = TypeVar("R")
FUNCTION_SPEC_ATTRIBUTE = "__penstock_function_spec__"


@overload
def with_config(
    function: Callable[P, R],
    /,
    *,
    spec: type[BaseConfiguration] | None = None,
    sections: str | tuple[str, ...] = (),
    include_defaults: bool = True,
) -> Callable[P, R]: ...
@overload
def with_config(
    function: None = None,
    /,
    *,
    spec: type[BaseConfiguration] | None = None,
    sections: str | tuple[str, ...] = (),
    include_defaults: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def with_config(
    function: Any = None,
    /,
    *,
    spec: type[BaseConfiguration] | None = None,
    sections: str | tuple[str, ...] = (),
    include_defaults: bool = True,
) -> Any:
    """Fill the arguments of a function from configuration when it is called.

    Passed arguments win. Arguments with the default `penstock.config.value` or `penstock.secrets.value` are
    required, other defaults are overridden by configuration. Without `sections`, sections and pipeline are
    those of the scope.

    >>> import os; os.environ["SOURCES__HUB__PAGES"] = "3"
    >>> @with_config(sections=("sources", "hub"))
    ... def pages_of(repository, pages: int = 10):
    ...     return repository, pages
    >>> pages_of("penstock"), pages_of("penstock", 5)
    (('penstock', 3), ('penstock', 5))
    >>> del os.environ["SOURCES__HUB__PAGES"]
    """
    if function is None:
        return functools.partial(with_config, spec=spec, sections=sections, include_defaults=include_defaults)
    spec_of_function = function_spec(function, spec=spec, include_defaults=include_defaults)
    signature = inspect.signature(function)
    own_sections = (sections,) if isinstance(sections, str) else sections

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind_partial(*args, **kwargs)
        resolved = resolve_arguments(
            spec_of_function,
            bound.arguments,
            settings=read_settings(),
            sections=own_sections or scope().sections,
        )
        merged = {**bound.arguments, **resolved}
        bound.arguments = {name: merged[name] for name in signature.parameters if name in merged}
        return function(*bound.args, **bound.kwargs)

    setattr(wrapper, FUNCTION_SPEC_ATTRIBUTE, spec_of_function)
    return wrapper


def get_fun_spec(function: Callable[..., Any]) -> FunctionSpec | None:
    """Return the spec of a function that `with_config` decorated; None for other functions."""
    spec = getattr(function, FUNCTION_SPEC_ATTRIBUTE, None)
    return spec if isinstance(spec, FunctionSpec) else None


def resolve_arguments(
    spec: FunctionSpec,
    arguments: Mapping[str, Any],
    *,
    settings: Settings,
    sections: tuple[str, ...] = (),
    pipeline_name: str | None = None,
) -> dict[str, Any]:
    """Return the arguments to add to the passed ones: configured values, and None for optional ones.

    Passed values are unchanged, except that credentials given as text or object become the annotated type.
    Without `pipeline_name`, the pipeline of the scope is used.
    """
    passed = {name: value for name, value in arguments.items() if not isinstance(value, ConfigValue)}
    _reject_none(spec, passed)
    for spec_field in spec.fields:
        # A passed secret is a secret too and must be masked in errors and logs.
        value = passed.get(spec_field.name)
        if spec_field.secret and isinstance(value, str):
            remember_secret(value)
    fields = [
        spec_field
        for spec_field in spec.fields
        if spec_field.name not in passed or (spec_field.specs and passed[spec_field.name] is not None)
    ]
    context = LookupContext(
        providers=settings.providers,
        pipeline_name=pipeline_name or scope().pipeline_name,
        sections=Sections(requested=sections),
    )
    resolved = resolve_fields(fields, context, passed)
    raise_missing(f"{spec.name}()", resolved.resolutions)
    markers = {spec_field.name: None for spec_field in fields if spec_field.name in spec.marked}
    defaults = {
        spec_field.name: spec_field.default for spec_field in fields if spec_field.name not in spec.marked
    }
    return {**markers, **defaults, **resolved.values}


def _reject_none(spec: FunctionSpec, arguments: Mapping[str, Any]) -> None:
    none = [
        spec_field
        for spec_field in spec.fields
        if spec_field.required and spec_field.name in arguments and arguments[spec_field.name] is None
    ]
    if none:
        location = (str(ConfigLocation(provider=CALL, key="None")),)
        raise ConfigFieldMissing(
            spec=f"{spec.name}()", fields={spec_field.name: location for spec_field in none}
        )
