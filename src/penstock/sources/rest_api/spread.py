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
    answers,
    client,
    detect,
    paginators,
    paths,
    ranges,
    retry,
    signing,
    telling,
    urls,
)
from penstock.sources.rest.ranges import RangePaginator
from penstock.sources.rest_api import actions, endpoint, templates, travel
from penstock.sources.rest_api.keys import wrong
from penstock.sources.rest_api.travel import FROM, TO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.work import RateLimit
    from penstock.sources.resource import Resource
    from penstock.sources.rest_api.endpoint import Endpoint
    from penstock.sources.rest_api.plan import ResourcePlan

TRAVELLING: Final = (
    *(answers, client, detect, paginators, paths, ranges, retry, signing, telling, urls),
    *(actions, endpoint, templates, travel, cursorpath, errors, redaction),
)
"""The modules that run on executors. They need `requests` there, and nothing else."""


def spread_out(
    plan: ResourcePlan,
    asked: Endpoint,
    rate: RateLimit | None,
    parent: Resource | None,
    *,
    has_cursor: bool,
) -> Resource:
    """A resource whose work items are batches of rows of its parent, or stretches of its pages."""
    where = f"resources.{plan.name}.spread"
    if has_cursor:
        raise wrong(
            where,
            "it has a cursor, and executors cannot tell each other how far they are",
            "leave spread out, or give the cursor to its parent",
        )
    hints = {key: value for key, value in plan.hints.items() if key != "parallelized"}
    size = plan.spread or 1
    about = redact(
        json.dumps([plan.endpoint, plan.included, asked.client.base_url], default=_told, sort_keys=True)
    )
    if parent is not None:
        made = declare(travel.fetch_children, name=plan.name, data_from=parent, **hints)
        items: dict[str, Any] = {"cut": partial(_batches, asked, size)}
    else:
        _refuse_unknown_end(where, asked)
        made = declare(
            travel.fetch_pages, name=plan.name, work_items=partial(_stretches, asked, size), **hints
        )
        items = {}
    bound: Resource = made(endpoint=asked, about=about)
    bound.change(rate=rate, paces_itself=True, modules=TRAVELLING, **items)
    return bound


def _batches(asked: Endpoint, size: int, given: Any) -> Iterator[list[Any]]:
    rows = given if isinstance(given, list) else [given]
    for first in range(0, len(rows), size):
        yield [asked.wanted_of(row) for row in rows[first : first + size]]


def _stretches(asked: Endpoint, size: int) -> Iterator[dict[str, int]]:
    """Where each work item begins and ends. The first page is asked for where only it tells the total.

    The last one ends where a whole one would: a run that goes on when there are more pages knows it again.
    """
    paginator: Any = asked.paginator
    page = next(iter(asked.pages({})), None) if paginator.total_path is not None else None
    if page is None and paginator.total_path is not None:
        return
    end = paginator.end(None if page is None else page.response.json())
    step = paginator.value_step * size
    for first in range(paginator.initial_value, end, step):
        yield {FROM: first, TO: first + step}


def _refuse_unknown_end(where: str, asked: Endpoint) -> None:
    paginator = asked.paginator
    if not isinstance(paginator, RangePaginator):
        raise wrong(
            where,
            "its pages cannot be asked for before the one before is there",
            "spread its children, or say a page_number or an offset paginator",
        )
    if paginator.total_path is None and paginator.maximum_value is None:
        raise wrong(where, "nobody knows where its pages end", "say a total_path or a maximum")
    if paginator.total_path is None and paginator.has_more_path is not None:
        raise wrong(
            where,
            "its pages end where a response says so, and executors would ask for all up to the maximum",
            "say a total_path, or leave has_more_path or spread out",
        )


def _told(value: Any) -> str:
    """Functions and paginators by their names: what they are made of is not compared."""
    return getattr(value, "__qualname__", type(value).__qualname__)
