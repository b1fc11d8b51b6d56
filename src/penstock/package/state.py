"""The state of one package: a small versioned document, and the access to it from user code."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from penstock.errors import (
    CurrentLoadPackageStateNotAvailable,
    PackageDamaged,
    UnsupportedVersion,
    UsageError,
)
from penstock.interfaces.run_context import CurrentPackage, current_context

if TYPE_CHECKING:
    from penstock.package.layout import TLoadPackage, TLoadPackageState

ENGINE_VERSION: Final = 1
_DESTINATION_STATE: Final = "destination_state"
_UNHASHED_KEYS = frozenset(("_state_version", "_state_engine_version", "_version_hash", "load_metrics"))


def default_state(load_id: str, *, now: datetime | None = None) -> TLoadPackageState:
    """Return the state of a new package. Its creation time is that of the id, if the id is a time.

    >>> default_state("1794700870.5")["created_at"]
    '2026-11-15T00:01:10.500000+00:00'
    """
    state = {
        "_state_version": 0,
        "_state_engine_version": ENGINE_VERSION,
        "created_at": (_load_id_time(load_id) or now or datetime.now(UTC)).isoformat(timespec="microseconds"),
    }
    return cast("TLoadPackageState", state)


def with_version(state: TLoadPackageState) -> TLoadPackageState:
    """Return the state with its hash, and with its version increased if the hash has changed.

    >>> first = with_version(default_state("1794700870.5"))
    >>> second = with_version({**first, "destination_state": {"done": 3}})
    >>> first["_state_version"], second["_state_version"], with_version(second)["_state_version"]
    (0, 1, 1)
    """
    document: dict[str, Any] = dict(state)  # a copy at once: other threads may add keys meanwhile
    digest = _digest(document)
    last_digest = document.get("_version_hash")
    version = document.get("_state_version", 0) + (1 if last_digest not in {None, digest} else 0)
    return cast("TLoadPackageState", {**document, "_state_version": version, "_version_hash": digest})


def read_state(document: Any, *, path: str) -> TLoadPackageState:
    """Return the state in a document; refuse a malformed one, or one of a later release."""
    if not isinstance(document, dict):
        raise PackageDamaged(path=path, reason="it is not a JSON object")
    engine_version = document.get("_state_engine_version", ENGINE_VERSION)
    for key, value, kind in (
        ("_state_engine_version", engine_version, int),
        ("_state_version", document.get("_state_version", 0), int),
        ("_version_hash", document.get("_version_hash", ""), str),
        ("created_at", document.get("created_at", ""), str),
        ("destination_state", document.get("destination_state", {}), dict),
    ):
        if not isinstance(value, kind):
            raise PackageDamaged(path=path, reason=f"its {key} is {value!r:.80}")
    if engine_version > ENGINE_VERSION:
        raise UnsupportedVersion(what=path, has=str(engine_version), supports=f"up to {ENGINE_VERSION}")
    return cast("TLoadPackageState", document)


def load_package() -> TLoadPackage:
    """Get the current load package: its id and its state. All threads share the same dict.

    >>> load_package()
    Traceback (most recent call last):
    ...
    penstock.errors.CurrentLoadPackageStateNotAvailable: no load package is being processed here
      what to do: call this inside a resource, a destination or a load job
      code: current-load-package-state-not-available
    """
    return cast("TLoadPackage", _current_package().document)


def commit_load_package_state() -> None:
    """Write the state of the current load package. Safe to call from any thread."""
    _current_package().commit()


def destination_state() -> dict[str, Any]:
    """Get the destination's part of the load package state; it is created on first access."""
    state: dict[str, Any] = _current_package().document["state"]
    destination: dict[str, Any] = state.setdefault(_DESTINATION_STATE, {})
    return destination


def clear_destination_state(commit: bool = True) -> None:  # noqa: FBT001, FBT002 - the page's signature
    """Remove the destination's part of the load package state, and write the state."""
    _current_package().document["state"].pop(_DESTINATION_STATE, None)
    if commit:
        commit_load_package_state()


def _current_package() -> CurrentPackage:
    package = current_context().package
    if package is None:
        raise CurrentLoadPackageStateNotAvailable
    return package


def _digest(document: dict[str, Any]) -> str:
    content = {key: value for key, value in document.items() if key not in _UNHASHED_KEYS}
    try:
        text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        hint = "use texts, numbers, lists and dicts in the state of a package"
        raise UsageError(f"a state cannot be written: {error}", hint=hint) from error
    return base64.b64encode(hashlib.sha3_256(text).digest()).decode()


def _load_id_time(load_id: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(load_id), UTC)
    except (ValueError, OverflowError, OSError):
        return None
