"""Resources of planned endpoints, and the generators that read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from penstock.config import read_settings, resolve_configuration
from penstock.interfaces.incremental import Incremental
from penstock.interfaces.pace import Pacer
from penstock.interfaces.work_items import RateLimit
from penstock.sources.decorators import resource as declare
from penstock.sources.rest.client import RESTClient
from penstock.sources.rest.http_client import RequestSettings
from penstock.sources.rest.json_paths import json_path
from penstock.sources.rest_api.endpoint import Endpoint
from penstock.sources.rest_api.executor_resources import build_executor_resource
from penstock.sources.rest_api.plan import SECTION, ResourcePlan, plan_resources
from penstock.sources.rest_api.registry import build_auth, build_paginator
from penstock.sources.rest_api.validation import invalid_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from penstock.sources.resource import Resource


def make_resources(config: Mapping[str, Any]) -> list[Resource]:
    """Return the resources of a checked configuration."""
    resources: dict[str, Resource] = {}
    rate_limit = config["client"].get("rate_limit")
    limiter = RateLimiter(RateLimit.parse(rate_limit)) if rate_limit else None
    for plan in plan_resources(config):
        if isinstance(plan, ResourcePlan):
            resources[plan.name] = _build_resource(plan, config["client"], resources, limiter)
        else:
            resources[plan.name] = plan
    return list(resources.values())


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
        resource = declare(read_endpoint, name=plan.name, section=SECTION, **hints)
        bound = resource(endpoint=endpoint, cursor=cursor.incremental)
    else:
        in_threads = bool(hints.pop("parallelized", False))
        parent = resources[plan.parent]
        resource = declare(read_children, name=plan.name, section=SECTION, data_from=parent, **hints)
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
    config = plan.endpoint
    return Endpoint(
        resource=plan.name,
        client=_build_client(client_config, config.get("auth")),
        path=config["path"],
        method=str(config.get("method") or "GET").upper(),
        params={key: value for key, value in config["params"].items() if not _is_cursor_param(value)},
        json=config.get("json"),
        data=config.get("data"),
        headers=config.get("headers"),
        paginator=build_paginator(config.get("paginator")),
        data_selector=config.get("data_selector"),
        actions=tuple(config.get("response_actions") or ()),
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
        session=client_config.get("session"),
        config=resolve_configuration(RequestSettings, settings=read_settings()),
        safe_headers=client_config.get("safe_headers") or (),
    )


def read_endpoint(endpoint: Endpoint, cursor: Incremental[Any] | None = None) -> Iterator[Any]:
    """Yield the pages of an endpoint without a parent."""
    values, params = _cursor_inputs(endpoint, cursor)
    yield from endpoint.pages(values, **params)


def read_children(
    items: Any, endpoint: Endpoint, cursor: Incremental[Any] | None = None, *, in_threads: bool = False
) -> Iterator[Any]:
    """Yield the pages of the children of each row; in threads, one call per row for all its pages."""
    values, params = _cursor_inputs(endpoint, cursor)
    for row in items if isinstance(items, list) else [items]:
        parent_context = endpoint.parent_context(row)
        if in_threads:
            yield partial(_all_children, endpoint, parent_context, values, params)
        else:
            yield from endpoint.children(parent_context, values, **params)


def _all_children(endpoint: Endpoint, parent_context: Any, values: Any, params: Any) -> list[Any]:
    return [child for page in endpoint.children(parent_context, values, **params) for child in page]


def _cursor_inputs(
    endpoint: Endpoint, cursor: Incremental[Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    params = cursor_params(
        cursor, endpoint.convert, start_param=endpoint.start_param, end_param=endpoint.end_param
    )
    return cursor_values(cursor, endpoint.convert), params


# Two requests must not come too close when the clock is read late.
_CLOCK_MARGIN: Final = 1.02


class RateLimiter:
    """The rate limit of all requests of a source in this process; starts with the first request."""

    def __init__(self, rate: RateLimit) -> None:
        self.rate = rate

    @cached_property
    def _pacer(self) -> Pacer:
        return Pacer(self.rate.seconds / self.rate.calls * _CLOCK_MARGIN)

    def wait(self) -> None:
        """Wait until the next request is allowed."""
        self._pacer.wait()


_PLACEHOLDER_VALUES = ("initial_value", "start_value", "last_value", "end_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPlan:
    """A cursor, the parameters for its start and end, and the conversion of their values."""

    incremental: Incremental[Any] | None = None
    start_param: str | None = None
    end_param: str | None = None
    convert: Callable[[Any], Any] | None = None


def plan_cursor(config_path: str, endpoint: Mapping[str, Any]) -> CursorPlan:
    """Return the cursor of an endpoint: one of its parameters, or its `incremental`."""
    params = endpoint.get("params") or {}
    names = [name for name, value in params.items() if isinstance(value, (dict, Incremental))]
    if len(names) > 1:
        raise invalid_config(
            f"{config_path}.params",
            f"{' and '.join(names)} are cursors",
            "an endpoint can have one cursor only",
        )
    if names:
        cursor = params[names[0]]
        if isinstance(cursor, Incremental):
            return CursorPlan(incremental=cursor, start_param=names[0])
        return _build_cursor_plan(cursor, start_param=names[0], end_param=None)
    cursor = endpoint.get("incremental")
    if cursor is None:
        return CursorPlan()
    if isinstance(cursor, Incremental):
        return CursorPlan(incremental=cursor)
    return _build_cursor_plan(
        cursor, start_param=cursor.get("start_param"), end_param=cursor.get("end_param")
    )


def _build_cursor_plan(
    config: Mapping[str, Any], *, start_param: str | None, end_param: str | None
) -> CursorPlan:
    own_keys = {"type", "start_param", "end_param", "convert", "transform"}
    return CursorPlan(
        incremental=Incremental(**{key: value for key, value in config.items() if key not in own_keys}),
        start_param=start_param,
        end_param=end_param,
        convert=config.get("convert") or config.get("transform"),
    )


def cursor_values(cursor: Incremental[Any] | None, convert: Callable[[Any], Any] | None) -> dict[str, Any]:
    """Return the current values of the placeholders of a cursor."""
    if cursor is None:
        return {}
    values = {f"incremental.{name}": getattr(cursor, name) for name in _PLACEHOLDER_VALUES}
    return {key: _convert_value(value, convert) for key, value in values.items()}


def cursor_params(
    cursor: Incremental[Any] | None,
    convert: Callable[[Any], Any] | None,
    *,
    start_param: str | None,
    end_param: str | None,
) -> dict[str, Any]:
    """Return the parameters with the start and the end of the cursor.

    The start is that of the run; the last value changes while the children of other rows are read.
    """
    if cursor is None:
        return {}
    values = {start_param: cursor.start_value, end_param: cursor.end_value}
    return {name: _convert_value(value, convert) for name, value in values.items() if name is not None}


def _convert_value(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if convert is None or value is None else convert(value)
