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
    about: str,
    *,
    pace: Callable[[], None] | None = None,
) -> Iterator[Any]:
    """The pages of the children of some rows; `about` tells this endpoint from others."""
    _paced(endpoint, pace)
    for row in rows:
        yield from endpoint.children(row, {})


def fetch_pages(
    stretch: Mapping[str, int], endpoint: Endpoint, about: str, *, pace: Callable[[], None] | None = None
) -> Iterator[Any]:
    """The pages that begin in a stretch; `about` tells this endpoint from others."""
    _paced(endpoint, pace)
    paginator: Any = endpoint.paginator
    yield from replace(endpoint, paginator=paginator.within(stretch[FROM], stretch[TO])).pages({})


def _paced(endpoint: Endpoint, pace: Callable[[], None] | None) -> None:
    if pace is not None:
        endpoint.client.paced_by(pace)
