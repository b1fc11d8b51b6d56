"""The way from a declaration to its items: users iterate over what `sources` declares, `extract` reads it.

The two rooms never import each other, so `pipeline` names the reader here, once, when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.source import Flow


class FlowReader(Protocol):
    """Gives the items of a flow, one by one, without their marks."""

    def __call__(self, flow: Flow) -> Iterator[Any]:
        """Read it."""


_flow_readers: list[FlowReader] = []


def register_flow_reader(reader: FlowReader) -> None:
    """Name the reader; a later one takes the place of an earlier one."""
    _flow_readers[:] = [reader]


def read_flow(flow: Flow) -> Iterator[Any]:
    """The items of a flow as the user yielded them, after all steps."""
    if not _flow_readers:
        raise InternalError("nobody can read a source yet", hint="import penstock, not one of its rooms")
    return _flow_readers[0](flow)
