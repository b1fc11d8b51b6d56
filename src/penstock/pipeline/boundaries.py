"""Cursor boundary files: copied with the packages that refer to them, removed when none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.extract.cursor.boundary_files import copy_referenced_files, remove_unreferenced_files
from penstock.package.extract_manifest import ExtractManifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.package import Packages
    from penstock.pipeline.state import State


def remove_old_boundaries(packages: Packages, state: Callable[[], State], *, upto: str) -> list[str]:
    """Remove files up to a load to which neither the last complete state nor a pending package refers.

    Files of later loads are kept: a run that took over may have written them before the state that refers to
    them. States are read after the files are listed.
    """

    def states() -> Iterator[Mapping[str, Any]]:
        yield state().get("sources", {})
        yield from _pending_states(packages)

    return remove_unreferenced_files(packages.store, states(), up_to_load_id=upto)


def copy_boundaries(unbound: Packages, packages: Packages) -> None:
    """Copy the files to which unbound packages refer to the storage they are transferred to."""
    for state in _pending_states(unbound):
        copy_referenced_files(unbound.store, packages.store, state)


def _pending_states(packages: Packages) -> Iterator[Mapping[str, Any]]:
    for package in packages.pending_packages():
        state = ExtractManifest.from_dict(package.read_extracted()).state
        if state is not None:
            yield state
