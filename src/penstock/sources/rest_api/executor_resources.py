"""Resources whose requests run on executors: children by parent rows, pages by ranges."""

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
    jwt_assertion,
    paginators,
    retry,
    signers,
    status,
    urls,
)
from penstock.sources.rest.paginators import RangePaginator
from penstock.sources.rest_api import endpoint, templates
from penstock.sources.rest_api.endpoint import FROM, TO
from penstock.sources.rest_api.plan import SECTION
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
        jwt_assertion,
        retry,
        signers,
        urls,
    ),
    *(endpoint, templates, cursorpath, errors, redaction),
)
"""The modules that are serialized to executors, which need `requests` but not penstock."""


def build_executor_resource(
    plan: ResourcePlan,
    resource_endpoint: Endpoint,
    rate: RateLimit | None,
    parent: Resource | None,
    *,
    has_cursor: bool,
) -> Resource:
    """Return a resource whose work items are batches of parent rows, or ranges of pages."""
    config_path = f"resources.{plan.name}.spread"
    if has_cursor:
        raise invalid_config(
            config_path,
            "executors cannot share the position of a cursor",
            "omit spread, or move the cursor to the parent",
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
        declared = declare(
            endpoint.fetch_children, name=plan.name, section=SECTION, data_from=parent, **hints
        )
        items: dict[str, Any] = {"split": partial(_row_batches, resource_endpoint, size)}
    else:
        _check_known_end(config_path, resource_endpoint)
        declared = declare(
            endpoint.fetch_pages,
            name=plan.name,
            section=SECTION,
            work_items=partial(_page_ranges, resource_endpoint, size),
            **hints,
        )
        items = {}
    bound: Resource = declared(endpoint=resource_endpoint, endpoint_identity=endpoint_identity)
    bound.change(rate=rate, paces_itself=True, modules=EXECUTOR_MODULES, **items)
    return bound


def _row_batches(resource_endpoint: Endpoint, size: int, parent_item: Any) -> Iterator[list[Any]]:
    rows = parent_item if isinstance(parent_item, list) else [parent_item]
    for first in range(0, len(rows), size):
        yield [resource_endpoint.parent_context(row) for row in rows[first : first + size]]


def _page_ranges(resource_endpoint: Endpoint, size: int) -> Iterator[dict[str, int]]:
    """Yield the range of each work item. Requests the first page if the end depends on its total.

    All ranges have the same length, so that a run that resumes with more pages recognises the last one.
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
            "each page depends on the previous one, so executors cannot request them in parallel",
            "spread its children, or use a page_number or offset paginator",
        )
    if paginator.total_path is None and paginator.maximum_value is None:
        raise invalid_config(config_path, "the number of pages is unknown", "set a total_path or a maximum")
    if paginator.total_path is None and paginator.has_more_path is not None:
        raise invalid_config(
            config_path,
            "a response ends the pages, but executors would request all pages up to the maximum",
            "set a total_path, or omit has_more_path or spread",
        )


def _qualified_name(value: Any) -> str:
    """Return the name of a function or of the class of a paginator; their content is not compared."""
    return getattr(value, "__qualname__", type(value).__qualname__)
