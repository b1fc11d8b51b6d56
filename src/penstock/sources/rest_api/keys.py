"""Which keys the configuration has, and what each may be."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from penstock.errors import InvalidSourceConfig
from penstock.interfaces.incremental import Incremental

CONFIG: Final = ("client", "resource_defaults", "resources")
CLIENT: Final = ("base_url", "headers", "auth", "paginator", "session", "rate_limit", "safe_headers")
HINTS: Final = (
    *("table_name", "max_table_nesting", "write_disposition", "columns", "primary_key", "merge_key"),
    *("schema_contract", "table_format", "file_format", "references", "nested_hints", "selected"),
    *("parallelized", "nested"),
)
DEFAULTS: Final = ("endpoint", "include_from_parent", "processing_steps", "spread", *HINTS)
RESOURCE: Final = ("name", *DEFAULTS)
ENDPOINT: Final = (
    *("path", "method", "params", "json", "data", "headers", "paginator", "data_selector"),
    *("response_actions", "incremental", "auth"),
)
ACTION: Final = ("status_code", "content", "action")
STEP: Final = ("filter", "map", "yield_map")
RESOLVE: Final = ("type", "resource", "field")
CURSOR: Final = (*list(inspect.signature(Incremental.__init__).parameters)[1:], "convert", "transform")
INCREMENTAL: Final = (*CURSOR, "start_param", "end_param")
PARAM_TYPES: Final = ("resolve", "incremental")


def wrong(path: str, reason: str, hint: str) -> InvalidSourceConfig:
    """The error of a place in the configuration."""
    return InvalidSourceConfig(path=path, reason=reason, advice=hint)


def check_keys(path: str, found: Any, allowed: Iterable[str]) -> None:
    """Refuse what is no dict, and keys that are not known here; one that is nearly known is named."""
    check_kind(path, found, Mapping, "a dict")
    known = tuple(allowed)
    for key in found:
        if key not in known:
            raise wrong(f"{path}.{key}", "this key is not known here", said_of(key, known))


def said_of(said: Any, known: Iterable[str]) -> str:
    """What could have been meant.

    >>> said_of("paginater", ["path", "paginator"])
    "did you mean 'paginator'? There are: path, paginator"
    """
    names = list(known)
    near = difflib.get_close_matches(str(said), names, n=1)
    there = ", ".join(names)
    return f"did you mean {near[0]!r}? There are: {there}" if near else f"there are: {there}"


def check_kind(path: str, found: Any, kinds: Any, wanted: str) -> None:
    """Refuse what is not of these kinds."""
    if not isinstance(found, kinds):
        raise wrong(path, f"this is a {type(found).__name__}", f"write {wanted}")


def check_one_of(path: str, found: Any, known: Iterable[str]) -> None:
    """Refuse a word that is none of those."""
    names = list(known)
    if found not in names:
        raise wrong(path, f"{found!r} is not known here", said_of(found, names))


def check_arguments(path: str, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse keys that a class does not take, and say which it cannot do without."""
    parameters = {name: one for name, one in inspect.signature(function).parameters.items() if name != "self"}
    check_keys(path, given, ("type", *parameters))
    for name, one in parameters.items():
        if one.default is one.empty and name not in given and one.kind is not one.VAR_KEYWORD:
            raise wrong(f"{path}.{name}", "this key is missing", f"say {name}")
