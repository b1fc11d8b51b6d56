"""The package at hand, for code that runs while one is extracted or loaded."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import CurrentLoadPackageStateNotAvailable
from penstock.interfaces.run_context import CurrentPackage, current_context, override_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.package.layout import TLoadPackage
    from penstock.package.package import Package

_DESTINATION_STATE = "destination_state"


@contextmanager
def package_context(package: Package) -> Iterator[TLoadPackage]:
    """Make `load_package` and its like speak of this package for the time of a block."""
    document: dict[str, Any] = {"load_id": package.load_id, "state": package.state()}
    lock = threading.Lock()

    def commit() -> None:
        with lock:
            saved = cast("dict[str, Any]", package.save_state(document["state"]))
            # Nothing else: what a thread has removed since must stay removed.
            document["state"].update({key: saved[key] for key in ("_state_version", "_version_hash")})

    with override_context(package=CurrentPackage(document=document, commit=commit)):
        yield cast("TLoadPackage", document)


def load_package() -> TLoadPackage:
    """Get the load package at hand: its id and its state. All threads see the same dict.

    >>> load_package()
    Traceback (most recent call last):
    ...
    penstock.errors.CurrentLoadPackageStateNotAvailable: no load package is at hand here
      what to do: call this from a resource, a destination or a load job while it runs
      code: current-load-package-state-not-available
    """
    return cast("TLoadPackage", _current_package().document)


def commit_load_package_state() -> None:
    """Write the state of the load package at hand. Safe to call from any thread."""
    _current_package().commit()


def destination_state() -> dict[str, Any]:
    """Get the part of the load package's state that is the destination's own; made when asked for."""
    state: dict[str, Any] = _current_package().document["state"]
    found: dict[str, Any] = state.setdefault(_DESTINATION_STATE, {})
    return found


def clear_destination_state(commit: bool = True) -> None:  # noqa: FBT001, FBT002 - the page's signature
    """Remove the part of the load package's state that is the destination's own, and write that."""
    _current_package().document["state"].pop(_DESTINATION_STATE, None)
    if commit:
        commit_load_package_state()


def _current_package() -> CurrentPackage:
    found = current_context().package
    if found is None:
        raise CurrentLoadPackageStateNotAvailable
    return found
