"""Files of cursors that no state names any more are removed at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.extract.cursor.files import remove_unnamed
from penstock.package.extracted import Extracted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.package import Packages
    from penstock.pipeline.state import State


def remove_old_boundaries(packages: Packages, state: State) -> list[str]:
    """Remove what neither `state`, that of the last complete load, nor a pending package names.

    For the holder of the lease: nobody else extracts meanwhile.
    """
    return remove_unnamed(packages.store, [state.get("sources", {}), *_pending(packages)])


def _pending(packages: Packages) -> Iterator[Mapping[str, Any]]:
    for package in (*packages.with_status("extracted"), *packages.with_status("normalized")):
        state = Extracted.from_dict(package.extracted()).state
        if state is not None:
            yield state
