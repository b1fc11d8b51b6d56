"""The keys of the configuration, and checks of single values."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from penstock.errors import InvalidSourceConfig
from penstock.interfaces.incremental import Incremental

CONFIG_KEYS: Final = ("client", "resource_defaults", "resources")
CLIENT_KEYS: Final = ("base_url", "headers", "auth", "paginator", "session", "rate_limit", "safe_headers")
HINT_KEYS: Final = (
    *("table_name", "max_table_nesting", "write_disposition", "columns", "primary_key", "merge_key"),
    *("schema_contract", "table_format", "file_format", "references", "nested_hints", "selected"),
    *("parallelized", "nested"),
)
RESOURCE_DEFAULT_KEYS: Final = ("endpoint", "include_from_parent", "processing_steps", "spread", *HINT_KEYS)
RESOURCE_KEYS: Final = ("name", *RESOURCE_DEFAULT_KEYS)
ENDPOINT_KEYS: Final = (
    *("path", "method", "params", "json", "data", "headers", "paginator", "data_selector"),
    *("response_actions", "incremental", "auth"),
)
ACTION_KEYS: Final = ("status_code", "content", "action")
STEP_KEYS: Final = ("filter", "map", "yield_map")
RESOLVE_KEYS: Final = ("type", "resource", "field")
CURSOR_KEYS: Final = (*list(inspect.signature(Incremental.__init__).parameters)[1:], "convert", "transform")
INCREMENTAL_KEYS: Final = (*CURSOR_KEYS, "start_param", "end_param")
PARAM_TYPES: Final = ("resolve", "incremental")


def invalid_config(path: str, reason: str, hint: str) -> InvalidSourceConfig:
    """Return the error for a path in the configuration."""
    return InvalidSourceConfig(path=path, reason=reason, advice=hint)


def check_keys(path: str, value: Any, allowed: Iterable[str]) -> None:
    """Raise if a value is not a dict or has unknown keys; the error suggests a similar key."""
    check_type(path, value, Mapping, "a dict")
    names = tuple(allowed)
    for key in value:
        if key not in names:
            raise invalid_config(f"{path}.{key}", "this key is unknown", suggestion(key, names))


def suggestion(value: Any, allowed: Iterable[str]) -> str:
    """Return a hint with the most similar name and all known names.

    >>> suggestion("paginater", ["path", "paginator"])
    "did you mean 'paginator'? Known: path, paginator"
    """
    names = list(allowed)
    similar = difflib.get_close_matches(str(value), names, n=1)
    listing = ", ".join(names)
    return f"did you mean {similar[0]!r}? Known: {listing}" if similar else f"known: {listing}"


def check_type(path: str, value: Any, types: Any, expected: str) -> None:
    """Raise if a value is not of one of these types."""
    if not isinstance(value, types):
        raise invalid_config(path, f"this is a {type(value).__name__}", f"set {expected}")


def check_one_of(path: str, value: Any, allowed: Iterable[str]) -> None:
    """Raise if a value is not one of the known words."""
    names = list(allowed)
    if value not in names:
        raise invalid_config(path, f"{value!r} is unknown", suggestion(value, names))


def check_arguments(path: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise for keys that a function does not accept, and for missing required ones."""
    signature = inspect.signature(function)
    parameters = {name: parameter for name, parameter in signature.parameters.items() if name != "self"}
    check_keys(path, arguments, ("type", *parameters))
    for name, parameter in parameters.items():
        is_required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if is_required and name not in arguments:
            raise invalid_config(f"{path}.{name}", "this key is missing", f"set {name}")
