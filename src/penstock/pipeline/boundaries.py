"""The files of cursors go with the packages whose states name them, and are removed when none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.extract.cursor.boundary_files import copy_referenced_files, remove_unreferenced_files
from penstock.package.extract_manifest import ExtractManifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.package import Packages
    from penstock.pipeline.state import State


def remove_old_boundaries(packages: Packages, state: Callable[[], State], *, upto: str) -> list[str]:
    """Remove files of loads up to one that neither the state of the last complete load nor a package names.

    Files of later loads stay: a run that took over may have written them and not named them yet. States are
    read after the files are listed.
    """

    def states() -> Iterator[Mapping[str, Any]]:
        yield state().get("sources", {})
        yield from _pending_states(packages)

    return remove_unreferenced_files(packages.store, states(), up_to_load_id=upto)


def copy_boundaries(unbound: Packages, packages: Packages) -> None:
    """Copy what packages that wait name to where they will be carried."""
    for state in _pending_states(unbound):
        copy_referenced_files(unbound.store, packages.store, state)


def _pending_states(packages: Packages) -> Iterator[Mapping[str, Any]]:
    for package in (*packages.with_status("extracted"), *packages.with_status("normalized")):
        state = ExtractManifest.from_dict(package.read_extracted()).state
        if state is not None:
            yield state
