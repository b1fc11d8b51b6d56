"""Iteration over a source outside of a run: `sources` declares flows, `extract` reads them.

The two packages never import each other, so the reader is looked up by its path when it is first used.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.interfaces.source import Flow

_READER: Final = "penstock.pipeline.frame_engine:read_items"


def read_flow(flow: Flow) -> Iterator[Any]:
    """Return the items of a flow as the user yielded them, after all steps."""
    items: Iterator[Any] = pkgutil.resolve_name(_READER)(flow)
    return items
