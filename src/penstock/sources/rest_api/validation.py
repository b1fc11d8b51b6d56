"""Which keys the configuration has, and what each may be."""

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
    """The error of a place in the configuration."""
    return InvalidSourceConfig(path=path, reason=reason, advice=hint)


def check_keys(path: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse what is no dict, and keys that are not known here; one that is nearly known is named."""
    check_type(path, value, Mapping, "a dict")
    known = tuple(allowed)
    for key in value:
        if key not in known:
            raise invalid_config(f"{path}.{key}", "this key is not known here", suggestion(key, known))


def suggestion(value: Any, known: Iterable[str]) -> str:
    """What could have been meant.

    >>> suggestion("paginater", ["path", "paginator"])
    "did you mean 'paginator'? There are: path, paginator"
    """
    names = list(known)
    near = difflib.get_close_matches(str(value), names, n=1)
    there = ", ".join(names)
    return f"did you mean {near[0]!r}? There are: {there}" if near else f"there are: {there}"


def check_type(path: str, value: Any, types: Any, expected: str) -> None:
    """Refuse what is not of these kinds."""
    if not isinstance(value, types):
        raise invalid_config(path, f"this is a {type(value).__name__}", f"write {expected}")


def check_one_of(path: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a word that is none of those."""
    names = list(known)
    if value not in names:
        raise invalid_config(path, f"{value!r} is not known here", suggestion(value, names))


def check_arguments(path: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse keys that a class does not take, and say which it cannot do without."""
    parameters = {name: one for name, one in inspect.signature(function).parameters.items() if name != "self"}
    check_keys(path, arguments, ("type", *parameters))
    for name, one in parameters.items():
        if one.default is one.empty and name not in arguments and one.kind is not one.VAR_KEYWORD:
            raise invalid_config(f"{path}.{name}", "this key is missing", f"say {name}")
