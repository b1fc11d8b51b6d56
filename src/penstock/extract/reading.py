"""Reads a flow for somebody who only wants to look at its items."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from penstock.extract.engine import Engine
from penstock.extract.plan import Workload
from penstock.interfaces.current import context_with, current

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.source import Flow


def read_items(flow: Flow) -> Iterator[Any]:
    """The items of all selected streams, pages taken apart, marks taken off. State lasts as long as this."""
    state = current().state
    here = context_with(source_name=flow.name, source=flow.source, state={} if state is None else state)
    with closing(here.run(lambda: Engine(flow, Workload()).arrivals())) as arrivals:
        for _, item, _ in arrivals:
            if isinstance(item, list):
                yield from item
            elif item is not None:
                yield item
