"""The files of cursors go with the packages whose states name them, and are removed when none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.extract.cursor.files import carry_files, remove_unnamed
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


def carry_boundaries(waiting: Packages, packages: Packages) -> None:
    """Copy what packages that wait name to where they will be carried."""
    for state in _pending(waiting):
        carry_files(waiting.store, packages.store, state)


def _pending(packages: Packages) -> Iterator[Mapping[str, Any]]:
    for package in (*packages.with_status("extracted"), *packages.with_status("normalized")):
        state = Extracted.from_dict(package.extracted()).state
        if state is not None:
            yield state
