"""Checks of a configuration; errors name the path of the invalid value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from requests.auth import AuthBase

from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import DeclarationBase
from penstock.interfaces.work_items import RateLimit
from penstock.sources.rest.paginators import BasePaginator
from penstock.sources.rest_api import validation
from penstock.sources.rest_api.registry import AUTHS, PAGINATORS

HTTP_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def check_config(config: Any) -> None:
    """Raise for unknown keys, and for values that cannot work."""
    validation.check_keys("config", config, validation.CONFIG_KEYS)
    for name in ("client", "resources"):
        if config.get(name) is None:
            raise validation.invalid_config(
                f"config.{name}", "this key is missing", "a source needs a client and resources"
            )
    _check_client("client", config["client"])
    if config.get("resource_defaults") is not None:
        validation.check_keys(
            "resource_defaults", config["resource_defaults"], validation.RESOURCE_DEFAULT_KEYS
        )
        _check_resource("resource_defaults", config["resource_defaults"])
    resources = config["resources"]
    if isinstance(resources, str) or not isinstance(resources, Sequence):
        validation.check_type("resources", None, list, "a list of names, dicts and resources")
    for number, resource in enumerate(resources):
        path = f"resources[{number}]"
        if isinstance(resource, (str, DeclarationBase)):
            continue
        validation.check_keys(path, resource, validation.RESOURCE_KEYS)
        if not isinstance(resource.get("name"), str) or not resource["name"]:
            raise validation.invalid_config(f"{path}.name", "a resource needs a name", "set a text")
        _check_resource(f"resources.{resource['name']}", resource)


def _check_client(path: str, client: Any) -> None:
    validation.check_keys(path, client, validation.CLIENT_KEYS)
    if not isinstance(client.get("base_url"), str):
        raise validation.invalid_config(f"{path}.base_url", "this key is missing", "set the URL of the API")
    _check_auth(f"{path}.auth", client.get("auth"))
    _check_paginator(f"{path}.paginator", client.get("paginator"))
    _check_mapping(f"{path}.headers", client.get("headers"))
    safe = client.get("safe_headers")
    if safe is not None and (isinstance(safe, str) or not isinstance(safe, Sequence)):
        raise validation.invalid_config(
            f"{path}.safe_headers", "this is not a list", "set a list of header names"
        )
    if client.get("rate_limit") is not None:
        RateLimit.parse(client["rate_limit"])


def _check_resource(path: str, resource: Mapping[str, Any]) -> None:
    endpoint = resource.get("endpoint")
    if endpoint is not None and not isinstance(endpoint, str):
        _check_endpoint(f"{path}.endpoint", endpoint)
    included = resource.get("include_from_parent")
    if included is not None and (isinstance(included, str) or not isinstance(included, Sequence)):
        raise validation.invalid_config(
            f"{path}.include_from_parent", "this is not a list", "set a list of fields"
        )
    for number, step in enumerate(resource.get("processing_steps") or ()):
        step_path = f"{path}.processing_steps[{number}]"
        validation.check_keys(step_path, step, validation.STEP_KEYS)
        for name, function in step.items():
            validation.check_type(f"{step_path}.{name}", function, Callable, "a function")
    spread = resource.get("spread")
    is_count = isinstance(spread, int) and (isinstance(spread, bool) or spread > 0)
    if spread is not None and not is_count:
        raise validation.invalid_config(
            f"{path}.spread",
            f"{spread!r} is not a number of rows or pages",
            "set True, or a number of at least 1",
        )


def _check_endpoint(path: str, endpoint: Any) -> None:
    validation.check_keys(path, endpoint, validation.ENDPOINT_KEYS)
    if endpoint.get("method") is not None:
        validation.check_one_of(f"{path}.method", str(endpoint["method"]).upper(), HTTP_METHODS)
    _check_auth(f"{path}.auth", endpoint.get("auth"))
    _check_paginator(f"{path}.paginator", endpoint.get("paginator"))
    for name in ("params", "headers"):
        _check_mapping(f"{path}.{name}", endpoint.get(name))
    if endpoint.get("json") and endpoint.get("data"):
        raise validation.invalid_config(
            f"{path}.data", "a request has json or data, not both", "omit one of them"
        )
    for name, value in (endpoint.get("params") or {}).items():
        if isinstance(value, dict):
            _check_param(f"{path}.params.{name}", value)
    if endpoint.get("incremental") is not None and not isinstance(endpoint["incremental"], Incremental):
        validation.check_keys(f"{path}.incremental", endpoint["incremental"], validation.INCREMENTAL_KEYS)
    for number, action in enumerate(endpoint.get("response_actions") or ()):
        _check_action(f"{path}.response_actions[{number}]", action)


def _check_param(path: str, value: Mapping[str, Any]) -> None:
    validation.check_one_of(f"{path}.type", value.get("type"), validation.PARAM_TYPES)
    if value["type"] == "resolve":
        validation.check_keys(path, value, validation.RESOLVE_KEYS)
        for name in ("resource", "field"):
            validation.check_type(f"{path}.{name}", value.get(name), str, "a text")
        return
    validation.check_keys(path, value, ("type", *validation.CURSOR_KEYS, "start_param", "end_param"))
    for name in ("end_value", "end_param"):
        if value.get(name) is not None:
            raise validation.invalid_config(
                f"{path}.{name}",
                "a parameter has a start only",
                "configure start and end in endpoint.incremental",
            )


def _check_action(path: str, action: Any) -> None:
    if callable(action):
        return
    validation.check_keys(path, action, validation.ACTION_KEYS)
    effect = action.get("action")
    functions = effect if isinstance(effect, list) else [effect]
    if effect != "ignore" and not (functions and all(map(callable, functions))):
        raise validation.invalid_config(
            f"{path}.action", f"{effect!r} is not an action", "set 'ignore', or a function"
        )
    status = action.get("status_code")
    if status is not None and not str(status).isdigit():
        raise validation.invalid_config(
            f"{path}.status_code", f"{status!r} is not a status code", "set a number such as 404"
        )


def _check_paginator(path: str, paginator: Any) -> None:
    if paginator is None or isinstance(paginator, BasePaginator):
        return
    validation.check_type(path, paginator, (str, Mapping), "a name, a dict with a type, or a paginator")
    kind = paginator if isinstance(paginator, str) else paginator.get("type", "auto")
    validation.check_one_of(path if isinstance(paginator, str) else f"{path}.type", kind, PAGINATORS)
    paginator_class = PAGINATORS[kind]
    arguments = {} if isinstance(paginator, str) else paginator
    if paginator_class is None:
        validation.check_keys(path, arguments, ("type",))
    else:
        validation.check_arguments(path, paginator_class.__init__, arguments)


def _check_auth(path: str, auth: Any) -> None:
    if auth is None or isinstance(auth, AuthBase):
        return
    validation.check_type(path, auth, (str, Mapping), "a name, a dict with a type, or an object of requests")
    kind = auth if isinstance(auth, str) else auth.get("type", "bearer")
    if kind not in list(AUTHS):
        # The value may be the secret itself, so the message does not show it.
        type_path = path if isinstance(auth, str) else f"{path}.type"
        raise validation.invalid_config(
            type_path, "this is not a known authentication", validation.suggestion(kind, AUTHS)
        )
    if not isinstance(auth, str):
        validation.check_keys(path, auth, ("type", *AUTHS[kind].model_fields))


def _check_mapping(path: str, value: Any) -> None:
    if value is not None:
        validation.check_type(path, value, Mapping, "a dict")
