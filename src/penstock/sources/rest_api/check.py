"""Reads a configuration before anything is made of it: what is wrong is told with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from requests.auth import AuthBase

from penstock.interfaces.incremental import Incremental
from penstock.interfaces.source import Declared
from penstock.interfaces.work import RateLimit
from penstock.sources.rest.paginators import BasePaginator
from penstock.sources.rest_api import keys
from penstock.sources.rest_api.kinds import AUTHS, PAGINATORS

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def check_config(config: Any) -> None:
    """Refuse a configuration with keys or values that nobody would look at, or that cannot work."""
    keys.check_keys("config", config, keys.CONFIG)
    for name in ("client", "resources"):
        if config.get(name) is None:
            raise keys.wrong(f"config.{name}", "this key is missing", "a source has a client and resources")
    _check_client("client", config["client"])
    if config.get("resource_defaults") is not None:
        keys.check_keys("resource_defaults", config["resource_defaults"], keys.DEFAULTS)
        _check_resource("resource_defaults", config["resource_defaults"])
    resources = config["resources"]
    if isinstance(resources, str) or not isinstance(resources, Sequence):
        keys.check_kind("resources", None, list, "a list of names, dicts and resources")
    for number, resource in enumerate(resources):
        path = f"resources[{number}]"
        if isinstance(resource, (str, Declared)):
            continue
        keys.check_keys(path, resource, keys.RESOURCE)
        if not isinstance(resource.get("name"), str) or not resource["name"]:
            raise keys.wrong(f"{path}.name", "a resource needs a name", "write a text")
        _check_resource(f"resources.{resource['name']}", resource)


def _check_client(path: str, client: Any) -> None:
    keys.check_keys(path, client, keys.CLIENT)
    if not isinstance(client.get("base_url"), str):
        raise keys.wrong(f"{path}.base_url", "this key is missing", "write the address of the API")
    _check_auth(f"{path}.auth", client.get("auth"))
    _check_paginator(f"{path}.paginator", client.get("paginator"))
    _check_mapping(f"{path}.headers", client.get("headers"))
    safe = client.get("safe_headers")
    if safe is not None and (isinstance(safe, str) or not isinstance(safe, Sequence)):
        raise keys.wrong(f"{path}.safe_headers", "this is no list", "write a list of names of headers")
    if client.get("rate_limit") is not None:
        RateLimit.parse(client["rate_limit"])


def _check_resource(path: str, resource: Mapping[str, Any]) -> None:
    endpoint = resource.get("endpoint")
    if endpoint is not None and not isinstance(endpoint, str):
        _check_endpoint(f"{path}.endpoint", endpoint)
    included = resource.get("include_from_parent")
    if included is not None and (isinstance(included, str) or not isinstance(included, Sequence)):
        raise keys.wrong(f"{path}.include_from_parent", "this is no list", "write a list of fields")
    for number, step in enumerate(resource.get("processing_steps") or ()):
        here = f"{path}.processing_steps[{number}]"
        keys.check_keys(here, step, keys.STEP)
        for name, function in step.items():
            keys.check_kind(f"{here}.{name}", function, Callable, "a function")
    spread = resource.get("spread")
    is_count = isinstance(spread, int) and (isinstance(spread, bool) or spread > 0)
    if spread is not None and not is_count:
        raise keys.wrong(
            f"{path}.spread", f"{spread!r} is no number of rows or pages", "write True, or a number from 1 on"
        )


def _check_endpoint(path: str, endpoint: Any) -> None:
    keys.check_keys(path, endpoint, keys.ENDPOINT)
    if endpoint.get("method") is not None:
        keys.check_one_of(f"{path}.method", str(endpoint["method"]).upper(), METHODS)
    _check_auth(f"{path}.auth", endpoint.get("auth"))
    _check_paginator(f"{path}.paginator", endpoint.get("paginator"))
    for name in ("params", "headers"):
        _check_mapping(f"{path}.{name}", endpoint.get(name))
    if endpoint.get("json") and endpoint.get("data"):
        raise keys.wrong(f"{path}.data", "a request has json or data, not both", "leave one of them out")
    for name, value in (endpoint.get("params") or {}).items():
        if isinstance(value, dict):
            _check_param(f"{path}.params.{name}", value)
    if endpoint.get("incremental") is not None and not isinstance(endpoint["incremental"], Incremental):
        keys.check_keys(f"{path}.incremental", endpoint["incremental"], keys.INCREMENTAL)
    for number, action in enumerate(endpoint.get("response_actions") or ()):
        _check_action(f"{path}.response_actions[{number}]", action)


def _check_param(path: str, value: Mapping[str, Any]) -> None:
    keys.check_one_of(f"{path}.type", value.get("type"), keys.PARAM_TYPES)
    if value["type"] == "resolve":
        keys.check_keys(path, value, keys.RESOLVE)
        for name in ("resource", "field"):
            keys.check_kind(f"{path}.{name}", value.get(name), str, "a text")
        return
    keys.check_keys(path, value, ("type", *keys.CURSOR, "start_param", "end_param"))
    for name in ("end_value", "end_param"):
        if value.get(name) is not None:
            raise keys.wrong(
                f"{path}.{name}", "a parameter has a start only", "say both ends in endpoint.incremental"
            )


def _check_action(path: str, action: Any) -> None:
    if callable(action):
        return
    keys.check_keys(path, action, keys.ACTION)
    what = action.get("action")
    many = what if isinstance(what, list) else [what]
    if what != "ignore" and not (many and all(map(callable, many))):
        raise keys.wrong(f"{path}.action", f"{what!r} is nothing to do", "write 'ignore', or a function")
    status = action.get("status_code")
    if status is not None and not str(status).isdigit():
        raise keys.wrong(f"{path}.status_code", f"{status!r} is no status", "write a number such as 404")


def _check_paginator(path: str, said: Any) -> None:
    if said is None or isinstance(said, BasePaginator):
        return
    keys.check_kind(path, said, (str, Mapping), "a name, a dict with a type, or a paginator")
    kind = said if isinstance(said, str) else said.get("type", "auto")
    keys.check_one_of(path if isinstance(said, str) else f"{path}.type", kind, PAGINATORS)
    made = PAGINATORS[kind]
    given = {} if isinstance(said, str) else said
    if made is None:
        keys.check_keys(path, given, ("type",))
    else:
        keys.check_arguments(path, made.__init__, given)


def _check_auth(path: str, said: Any) -> None:
    if said is None or isinstance(said, AuthBase):
        return
    keys.check_kind(path, said, (str, Mapping), "a name, a dict with a type, or an object of requests")
    kind = said if isinstance(said, str) else said.get("type", "bearer")
    if kind not in list(AUTHS):
        # What stands there may be the secret itself, so it is not shown.
        where = path if isinstance(said, str) else f"{path}.type"
        raise keys.wrong(where, "this is the name of no log-in", keys.said_of(kind, AUTHS))
    if not isinstance(said, str):
        keys.check_keys(path, said, ("type", *AUTHS[kind].model_fields))


def _check_mapping(path: str, said: Any) -> None:
    if said is not None:
        keys.check_kind(path, said, Mapping, "a dict")
