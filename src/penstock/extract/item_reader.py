"""Reads a flow for somebody who only wants to look at its items."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from penstock.config import in_scope
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.engine import ExtractEngine
from penstock.extract.plan import Workload
from penstock.extract.waves.driver import as_driver_flow
from penstock.interfaces.run_context import current_context, override_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.interfaces.source import Flow


def read_items(flow: Flow, sessions: Callable[[Mapping[str, str]], Any] | None = None) -> Iterator[Any]:
    """The items of all selected streams, pages taken apart, marks taken off. State lasts as long as this.

    `sessions` are for resources that make DataFrames.
    """
    state = current_context().state
    kept = {} if state is None else state
    cursors = Cursors(kept, source=str(flow.name))
    with (
        override_context(
            source_name=flow.name,
            source=flow.source,
            state=kept,
            open_seen_set=cursors.seen_items,
            lend_session=current_context().lend_session or sessions,
        ),
        in_scope(sections=flow.sections),
    ):
        # The context is that of this moment; what is asked for later runs in copies of it.
        engine = ExtractEngine(as_driver_flow(flow), Workload(), cursors)
    with closing(engine.items()) as arrivals:
        for _, item, _ in arrivals:
            if isinstance(item, list):
                yield from item
            elif item is not None:
                yield item
    if state is not None:
        cursors.write_state()
