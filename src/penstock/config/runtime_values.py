"""What this process was told: settings written by code, and providers registered by code or installed."""

from __future__ import annotations

import threading
from copy import deepcopy
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from penstock.config.providers import ConfigProvider
from penstock.errors import ConfigProviderFailed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "penstock.config_providers"
SettingsKind = Literal["config", "secrets"]

_lock = threading.Lock()
_runtime_values: dict[SettingsKind, dict[str, Any]] = {"config": {}, "secrets": {}}
_registered_providers: list[ConfigProvider] = []


def write_value(kind: SettingsKind, path: str, value: Any) -> None:
    """Set a value for this process, as if it stood in the file of that kind."""
    *sections, key = path.split(".")
    with _lock:
        tree = _runtime_values[kind]
        for section in sections:
            below = tree.get(section)
            tree[section] = tree = below if isinstance(below, dict) else {}
        tree[key] = value


def runtime_values(kind: SettingsKind) -> dict[str, Any]:
    """Everything that was written, as a tree."""
    with _lock:
        return deepcopy(_runtime_values[kind])


def register_provider(provider: ConfigProvider) -> None:
    """Ask this provider too, after all others. A second one of the same name takes the place of the first."""
    with _lock:
        _registered_providers[:] = [
            *(one for one in _registered_providers if one.name != provider.name),
            provider,
        ]


def extra_providers() -> tuple[ConfigProvider, ...]:
    """Providers besides the environment and the files: installed ones by name, then registered ones."""
    with _lock:
        registered = tuple(_registered_providers)
    return (*_entry_point_providers(), *registered)


@cache
def _entry_point_providers() -> tuple[ConfigProvider, ...]:
    return tuple(
        _load_provider(found)
        for found in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda one: one.name)
    )


def _load_provider(entry_point: EntryPoint) -> ConfigProvider:
    try:
        made = entry_point.load()
        provider = made() if callable(made) else made
    except Exception as error:
        raise ConfigProviderFailed(provider=entry_point.name, reason=type(error).__name__) from error
    if not isinstance(provider, ConfigProvider):
        raise ConfigProviderFailed(
            provider=entry_point.name, reason=f"{entry_point.value} is not a ConfigProvider"
        )
    return provider
