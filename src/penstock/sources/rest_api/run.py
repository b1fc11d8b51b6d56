"""Makes resources of plans, and asks the endpoints when they are read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.config import BaseConfiguration, read_settings, resolve_configuration
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.work_items import RateLimit
from penstock.sources.decorators import resource as declare
from penstock.sources.rest.client import RESTClient
from penstock.sources.rest.json_paths import json_path
from penstock.sources.rest.retry import RetrySession
from penstock.sources.rest_api.cursor import cursor_params, cursor_values, plan_cursor
from penstock.sources.rest_api.endpoint import Endpoint
from penstock.sources.rest_api.executor_resources import build_executor_resource
from penstock.sources.rest_api.limit import RateLimiter
from penstock.sources.rest_api.plan import ResourcePlan, plan_resources
from penstock.sources.rest_api.registry import build_auth, build_paginator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from penstock.sources.resource import Resource


class RequestSettings(BaseConfiguration):
    """How often and how patiently requests are made."""

    __section__ = "runtime"

    request_timeout: float = 60.0
    request_max_attempts: int = 5
    request_backoff_factor: float = 1.0
    request_max_retry_delay: float = 300.0


def make_resources(config: Mapping[str, Any]) -> list[Resource]:
    """The resources of a configuration that was checked."""
    made: dict[str, Resource] = {}
    said = config["client"].get("rate_limit")
    limit = RateLimiter(RateLimit.parse(said)) if said else None
    for plan in plan_resources(config):
        if isinstance(plan, ResourcePlan):
            made[plan.name] = _build_resource(plan, config["client"], made, limit)
        else:
            made[plan.name] = plan
    return list(made.values())


def _build_resource(
    plan: ResourcePlan,
    client_config: Mapping[str, Any],
    resources: Mapping[str, Resource],
    limiter: RateLimiter | None,
) -> Resource:
    cursor = plan_cursor(f"resources.{plan.name}.endpoint", plan.endpoint)
    endpoint = _build_endpoint(plan, client_config)
    if limiter is not None:
        endpoint.client.paced_by(limiter.wait)
    if plan.spread is not None:
        rate = None if limiter is None else limiter.rate
        parent = None if plan.parent is None else resources[plan.parent]
        return _add_steps(
            build_executor_resource(plan, endpoint, rate, parent, has_cursor=cursor.incremental is not None),
            plan.steps,
        )
    endpoint = endpoint.with_cursor(cursor.start_param, cursor.end_param, cursor.convert)
    hints = dict(plan.hints)
    if plan.parent is None:
        resource = declare(read_endpoint, name=plan.name, **hints)
        bound = resource(endpoint=endpoint, cursor=cursor.incremental)
    else:
        in_threads = bool(hints.pop("parallelized", False))
        resource = declare(read_children, name=plan.name, data_from=resources[plan.parent], **hints)
        bound = resource(endpoint=endpoint, cursor=cursor.incremental, in_threads=in_threads)
    return _add_steps(bound, plan.steps)


def _add_steps(resource: Resource, steps: Sequence[Mapping[str, Callable[..., Any]]]) -> Resource:
    for step in steps:
        if "filter" in step:
            resource.add_filter(step["filter"])
        if "map" in step:
            resource.add_map(step["map"])
        if "yield_map" in step:
            resource.add_yield_map(step["yield_map"])
    return resource


def _build_endpoint(plan: ResourcePlan, client_config: Mapping[str, Any]) -> Endpoint:
    said = plan.endpoint
    return Endpoint(
        resource=plan.name,
        client=_build_client(client_config, said.get("auth")),
        path=said["path"],
        method=str(said.get("method") or "GET").upper(),
        params={key: value for key, value in said["params"].items() if not _is_cursor_param(value)},
        json=said.get("json"),
        data=said.get("data"),
        headers=said.get("headers"),
        paginator=build_paginator(said.get("paginator")),
        data_selector=said.get("data_selector"),
        actions=tuple(said.get("response_actions") or ()),
        parent=plan.parent,
        placeholder_paths={name: json_path(path) for name, path in plan.placeholder_paths.items()},
        included_fields=plan.included_fields,
    )


def _is_cursor_param(value: Any) -> bool:
    return isinstance(value, (dict, Incremental))


def _build_client(client_config: Mapping[str, Any], auth: Any) -> RESTClient:
    return RESTClient(
        client_config["base_url"],
        headers=client_config.get("headers"),
        auth=build_auth(auth if auth is not None else client_config.get("auth")),
        paginator=build_paginator(client_config.get("paginator")),
        session=client_config.get("session") or _build_session(),
        safe_headers=client_config.get("safe_headers") or (),
    )


def _build_session() -> RetrySession:
    found = resolve_configuration(RequestSettings, settings=read_settings())
    return RetrySession(
        timeout=found.request_timeout,
        attempts=found.request_max_attempts,
        backoff=found.request_backoff_factor,
        max_delay=found.request_max_retry_delay,
    )


def read_endpoint(endpoint: Endpoint, cursor: Incremental[Any] | None = None) -> Iterator[Any]:
    """The pages of an endpoint that needs no other."""
    values, params = _cursor_inputs(endpoint, cursor)
    yield from endpoint.pages(values, **params)


def read_children(
    items: Any, endpoint: Endpoint, cursor: Incremental[Any] | None = None, *, in_threads: bool = False
) -> Iterator[Any]:
    """The pages of the children of each row of a page; in threads, all pages of a row at once."""
    values, params = _cursor_inputs(endpoint, cursor)
    for row in items if isinstance(items, list) else [items]:
        wanted = endpoint.parent_context(row)
        if in_threads:
            yield partial(_all_children, endpoint, wanted, values, params)
        else:
            yield from endpoint.children(wanted, values, **params)


def _all_children(endpoint: Endpoint, parent_context: Any, values: Any, params: Any) -> list[Any]:
    return [child for page in endpoint.children(parent_context, values, **params) for child in page]


def _cursor_inputs(
    endpoint: Endpoint, cursor: Incremental[Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    params = cursor_params(
        cursor, endpoint.convert, start_param=endpoint.start_param, end_param=endpoint.end_param
    )
    return cursor_values(cursor, endpoint.convert), params
