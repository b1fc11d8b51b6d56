"""The keys of the configuration, and checks that name the path of an invalid value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from requests.auth import AuthBase

from penstock.errors import InvalidSourceConfig, suggestion
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import DeclarationBase
from penstock.interfaces.work_items import RateLimit
from penstock.sources.rest.paginators import BasePaginator
from penstock.sources.rest_api.registry import AUTHS, PAGINATORS

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


HTTP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def check_config(config: Any) -> None:
    """Raise for unknown keys, and for values that cannot work."""
    check_keys("config", config, CONFIG_KEYS)
    for name in ("client", "resources"):
        if config.get(name) is None:
            raise invalid_config(
                f"config.{name}", "this key is missing", "a source needs a client and resources"
            )
    _check_client("client", config["client"])
    if config.get("resource_defaults") is not None:
        check_keys("resource_defaults", config["resource_defaults"], RESOURCE_DEFAULT_KEYS)
        _check_resource("resource_defaults", config["resource_defaults"])
    resources = config["resources"]
    if isinstance(resources, str) or not isinstance(resources, Sequence):
        check_type("resources", None, list, "a list of names, dicts and resources")
    for number, resource in enumerate(resources):
        path = f"resources[{number}]"
        if isinstance(resource, (str, DeclarationBase)):
            continue
        check_keys(path, resource, RESOURCE_KEYS)
        if not isinstance(resource.get("name"), str) or not resource["name"]:
            raise invalid_config(f"{path}.name", "a resource needs a name", "set a text")
        _check_resource(f"resources.{resource['name']}", resource)


def _check_client(path: str, client: Any) -> None:
    check_keys(path, client, CLIENT_KEYS)
    if not isinstance(client.get("base_url"), str):
        raise invalid_config(f"{path}.base_url", "this key is missing", "set the URL of the API")
    _check_auth(f"{path}.auth", client.get("auth"))
    _check_paginator(f"{path}.paginator", client.get("paginator"))
    _check_mapping(f"{path}.headers", client.get("headers"))
    safe = client.get("safe_headers")
    if safe is not None and (isinstance(safe, str) or not isinstance(safe, Sequence)):
        raise invalid_config(f"{path}.safe_headers", "this is not a list", "set a list of header names")
    if client.get("rate_limit") is not None:
        RateLimit.parse(client["rate_limit"])


def _check_resource(path: str, resource: Mapping[str, Any]) -> None:
    endpoint = resource.get("endpoint")
    if endpoint is not None and not isinstance(endpoint, str):
        _check_endpoint(f"{path}.endpoint", endpoint)
    included = resource.get("include_from_parent")
    if included is not None and (isinstance(included, str) or not isinstance(included, Sequence)):
        raise invalid_config(f"{path}.include_from_parent", "this is not a list", "set a list of fields")
    for number, step in enumerate(resource.get("processing_steps") or ()):
        step_path = f"{path}.processing_steps[{number}]"
        check_keys(step_path, step, STEP_KEYS)
        for name, function in step.items():
            check_type(f"{step_path}.{name}", function, Callable, "a function")
    spread = resource.get("spread")
    is_count = isinstance(spread, int) and (isinstance(spread, bool) or spread > 0)
    if spread is not None and not is_count:
        raise invalid_config(
            f"{path}.spread",
            f"{spread!r} is not a number of rows or pages",
            "set True, or a number of at least 1",
        )


def _check_endpoint(path: str, endpoint: Any) -> None:
    check_keys(path, endpoint, ENDPOINT_KEYS)
    if endpoint.get("method") is not None:
        check_one_of(f"{path}.method", str(endpoint["method"]).upper(), HTTP_METHODS)
    _check_auth(f"{path}.auth", endpoint.get("auth"))
    _check_paginator(f"{path}.paginator", endpoint.get("paginator"))
    for name in ("params", "headers"):
        _check_mapping(f"{path}.{name}", endpoint.get(name))
    if endpoint.get("json") and endpoint.get("data"):
        raise invalid_config(f"{path}.data", "a request has json or data, not both", "omit one of them")
    for name, value in (endpoint.get("params") or {}).items():
        if isinstance(value, dict):
            _check_param(f"{path}.params.{name}", value)
    if endpoint.get("incremental") is not None and not isinstance(endpoint["incremental"], Incremental):
        check_keys(f"{path}.incremental", endpoint["incremental"], INCREMENTAL_KEYS)
    for number, action in enumerate(endpoint.get("response_actions") or ()):
        _check_action(f"{path}.response_actions[{number}]", action)


def _check_param(path: str, value: Mapping[str, Any]) -> None:
    check_one_of(f"{path}.type", value.get("type"), PARAM_TYPES)
    if value["type"] == "resolve":
        check_keys(path, value, RESOLVE_KEYS)
        for name in ("resource", "field"):
            check_type(f"{path}.{name}", value.get(name), str, "a text")
        return
    check_keys(path, value, ("type", *CURSOR_KEYS, "start_param", "end_param"))
    for name in ("end_value", "end_param"):
        if value.get(name) is not None:
            raise invalid_config(
                f"{path}.{name}",
                "a parameter has a start only",
                "configure start and end in endpoint.incremental",
            )


def _check_action(path: str, action: Any) -> None:
    if callable(action):
        return
    check_keys(path, action, ACTION_KEYS)
    effect = action.get("action")
    functions = effect if isinstance(effect, list) else [effect]
    if effect != "ignore" and not (functions and all(map(callable, functions))):
        raise invalid_config(f"{path}.action", f"{effect!r} is not an action", "set 'ignore', or a function")
    status = action.get("status_code")
    if status is not None and not str(status).isdigit():
        raise invalid_config(
            f"{path}.status_code", f"{status!r} is not a status code", "set a number such as 404"
        )


def _check_paginator(path: str, paginator: Any) -> None:
    if paginator is None or isinstance(paginator, BasePaginator):
        return
    check_type(path, paginator, (str, Mapping), "a name, a dict with a type, or a paginator")
    kind = paginator if isinstance(paginator, str) else paginator.get("type", "auto")
    check_one_of(path if isinstance(paginator, str) else f"{path}.type", kind, PAGINATORS)
    paginator_class = PAGINATORS[kind]
    arguments = {} if isinstance(paginator, str) else paginator
    if paginator_class is None:
        check_keys(path, arguments, ("type",))
    else:
        check_arguments(path, paginator_class.__init__, arguments)


def _check_auth(path: str, auth: Any) -> None:
    if auth is None or isinstance(auth, AuthBase):
        return
    check_type(path, auth, (str, Mapping), "a name, a dict with a type, or an object of requests")
    kind = auth if isinstance(auth, str) else auth.get("type", "bearer")
    if kind not in list(AUTHS):
        # The value may be the secret itself, so the message does not show it.
        type_path = path if isinstance(auth, str) else f"{path}.type"
        raise invalid_config(type_path, "this is not a known authentication", suggestion(kind, AUTHS))
    if not isinstance(auth, str):
        check_keys(path, auth, ("type", *AUTHS[kind].model_fields))


def _check_mapping(path: str, value: Any) -> None:
    if value is not None:
        check_type(path, value, Mapping, "a dict")
