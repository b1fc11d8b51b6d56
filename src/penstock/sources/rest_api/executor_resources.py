"""Endpoints whose requests can be shared out: children by their parents, pages by their numbers."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock import errors, redaction
from penstock.config import redact
from penstock.interfaces import cursorpath
from penstock.sources.decorators import resource as declare
from penstock.sources.rest import (
    client,
    detector,
    json_paths,
    paginators,
    range_paginators,
    response_fields,
    retry,
    signers,
    status,
    urls,
)
from penstock.sources.rest.range_paginators import RangePaginator
from penstock.sources.rest_api import actions, endpoint, executor_functions, templates
from penstock.sources.rest_api.executor_functions import FROM, TO
from penstock.sources.rest_api.validation import invalid_config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.work_items import RateLimit
    from penstock.sources.resource import Resource
    from penstock.sources.rest_api.endpoint import Endpoint
    from penstock.sources.rest_api.plan import ResourcePlan

EXECUTOR_MODULES: Final = (
    *(
        status,
        client,
        detector,
        paginators,
        json_paths,
        range_paginators,
        retry,
        signers,
        response_fields,
        urls,
    ),
    *(actions, endpoint, templates, executor_functions, cursorpath, errors, redaction),
)
"""The modules that run on executors. They need `requests` there, and nothing else."""


def build_executor_resource(
    plan: ResourcePlan,
    resource_endpoint: Endpoint,
    rate: RateLimit | None,
    parent: Resource | None,
    *,
    has_cursor: bool,
) -> Resource:
    """A resource whose work items are batches of rows of its parent, or stretches of its pages."""
    where = f"resources.{plan.name}.spread"
    if has_cursor:
        raise invalid_config(
            where,
            "it has a cursor, and executors cannot tell each other how far they are",
            "leave spread out, or give the cursor to its parent",
        )
    hints = {key: value for key, value in plan.hints.items() if key != "parallelized"}
    size = plan.spread or 1
    endpoint_identity = redact(
        json.dumps(
            [plan.endpoint, plan.included_fields, resource_endpoint.client.base_url],
            default=_qualified_name,
            sort_keys=True,
        )
    )
    if parent is not None:
        made = declare(executor_functions.fetch_children, name=plan.name, data_from=parent, **hints)
        items: dict[str, Any] = {"split": partial(_row_batches, resource_endpoint, size)}
    else:
        _check_known_end(where, resource_endpoint)
        made = declare(
            executor_functions.fetch_pages,
            name=plan.name,
            work_items=partial(_page_ranges, resource_endpoint, size),
            **hints,
        )
        items = {}
    bound: Resource = made(endpoint=resource_endpoint, endpoint_identity=endpoint_identity)
    bound.change(rate=rate, paces_itself=True, modules=EXECUTOR_MODULES, **items)
    return bound


def _row_batches(resource_endpoint: Endpoint, size: int, parent_item: Any) -> Iterator[list[Any]]:
    rows = parent_item if isinstance(parent_item, list) else [parent_item]
    for first in range(0, len(rows), size):
        yield [resource_endpoint.parent_context(row) for row in rows[first : first + size]]


def _page_ranges(resource_endpoint: Endpoint, size: int) -> Iterator[dict[str, int]]:
    """Where each work item begins and ends. The first page is asked for where only it tells the total.

    The last one ends where a whole one would: a run that goes on when there are more pages knows it again.
    """
    paginator: Any = resource_endpoint.paginator
    page = next(iter(resource_endpoint.pages({})), None) if paginator.total_path is not None else None
    if page is None and paginator.total_path is not None:
        return
    end = paginator.end(None if page is None else page.response.json())
    step = paginator.value_step * size
    for first in range(paginator.initial_value, end, step):
        yield {FROM: first, TO: first + step}


def _check_known_end(config_path: str, resource_endpoint: Endpoint) -> None:
    paginator = resource_endpoint.paginator
    if not isinstance(paginator, RangePaginator):
        raise invalid_config(
            config_path,
            "its pages cannot be asked for before the one before is there",
            "spread its children, or say a page_number or an offset paginator",
        )
    if paginator.total_path is None and paginator.maximum_value is None:
        raise invalid_config(config_path, "nobody knows where its pages end", "say a total_path or a maximum")
    if paginator.total_path is None and paginator.has_more_path is not None:
        raise invalid_config(
            config_path,
            "its pages end where a response says so, and executors would ask for all up to the maximum",
            "say a total_path, or leave has_more_path or spread out",
        )


def _qualified_name(value: Any) -> str:
    """Functions and paginators by their names: what they are made of is not compared."""
    return getattr(value, "__qualname__", type(value).__qualname__)
