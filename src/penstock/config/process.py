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

GROUP = "penstock.config_providers"
Kind = Literal["config", "secrets"]

_lock = threading.Lock()
_written: dict[Kind, dict[str, Any]] = {"config": {}, "secrets": {}}
_registered: list[ConfigProvider] = []


def write_value(kind: Kind, path: str, value: Any) -> None:
    """Set a value for this process, as if it stood in the file of that kind."""
    *sections, key = path.split(".")
    with _lock:
        tree = _written[kind]
        for section in sections:
            below = tree.get(section)
            tree[section] = tree = below if isinstance(below, dict) else {}
        tree[key] = value


def written(kind: Kind) -> dict[str, Any]:
    """Everything that was written, as a tree."""
    with _lock:
        return deepcopy(_written[kind])


def register_provider(provider: ConfigProvider) -> None:
    """Ask this provider too, after all others. A second one of the same name takes the place of the first."""
    with _lock:
        _registered[:] = [*(one for one in _registered if one.name != provider.name), provider]


def further_providers() -> tuple[ConfigProvider, ...]:
    """Providers besides the environment and the files: installed ones by name, then registered ones."""
    with _lock:
        registered = tuple(_registered)
    return (*_installed(), *registered)


@cache
def _installed() -> tuple[ConfigProvider, ...]:
    return tuple(_loaded(found) for found in sorted(entry_points(group=GROUP), key=lambda one: one.name))


def _loaded(found: EntryPoint) -> ConfigProvider:
    try:
        made = found.load()
        provider = made() if callable(made) else made
    except Exception as error:
        raise ConfigProviderFailed(provider=found.name, reason=type(error).__name__) from error
    if not isinstance(provider, ConfigProvider):
        raise ConfigProviderFailed(provider=found.name, reason=f"{found.value} is not a ConfigProvider")
    return provider
