"""What executors do with a work item of an endpoint. Travels by value: penstock is not installed there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from penstock.sources.rest_api.endpoint import Endpoint

TO, FROM = "to", "from"


def fetch_children(
    rows: Sequence[Mapping[str, Any]],
    endpoint: Endpoint,
    endpoint_identity: str,
    *,
    pace: Callable[[], None] | None = None,
) -> Iterator[Any]:
    """The pages of the children of some rows; `endpoint_identity` tells this endpoint from others."""
    _set_pace(endpoint, pace)
    for row in rows:
        yield from endpoint.children(row, {})


def fetch_pages(
    page_range: Mapping[str, int],
    endpoint: Endpoint,
    endpoint_identity: str,
    *,
    pace: Callable[[], None] | None = None,
) -> Iterator[Any]:
    """The pages that begin in a stretch; `endpoint_identity` tells this endpoint from others."""
    _set_pace(endpoint, pace)
    paginator: Any = endpoint.paginator
    yield from replace(endpoint, paginator=paginator.within(page_range[FROM], page_range[TO])).pages({})


def _set_pace(endpoint: Endpoint, pace: Callable[[], None] | None) -> None:
    if pace is not None:
        endpoint.client.paced_by(pace)
