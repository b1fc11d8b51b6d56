"""Settings from the environment, the files and other providers, as one value."""

from __future__ import annotations

import os
import stat
import threading
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.config.folders import settings_folders
from penstock.config.lookup import Lookup, Sections
from penstock.config.providers import ConfigProvider, DocumentProvider, EnvironmentProvider
from penstock.errors import ConfigProviderFailed, UsageError
from penstock.redaction import logger

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


MOUNTED_SECRETS = Path("/run/secrets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The environment and the files at the time of reading, and other providers."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secrets_folder: Path | None = None
    extra_providers: tuple[ConfigProvider, ...] = field(default=(), repr=False)

    @property
    def providers(self) -> tuple[ConfigProvider, ...]:
        """All providers in lookup order."""
        return (
            EnvironmentProvider(variables=self.environment, secrets_folder=self.secrets_folder),
            DocumentProvider(title=SECRETS_FILE, tree=self.secrets, holds_secrets=True),
            DocumentProvider(title=CONFIG_FILE, tree=self.document),
            *self.extra_providers,
        )

    def get(self, *sections: str, key: str) -> Any | None:
        """Return the value of `key`, with all sections first, then with sections dropped from the right.

        >>> settings = Settings(environment={"DESTINATION__BUCKET_URL": "lake"})
        >>> settings.get("destination", "delta", key="bucket_url")
        'lake'
        """
        return Lookup(key=key, sections=Sections(requested=sections)).find(self.providers).value

    def text(self, *sections: str, key: str) -> str | None:
        """Return a setting of exactly this section, as text.

        >>> Settings(environment={"NAME": "x", "SPARK__MASTER": "local"}).text("spark", key="name")
        >>> Settings(environment={"NAME": "x", "SPARK__MASTER": "local"}).text("spark", key="master")
        'local'
        """
        value = Lookup(key=key, sections=Sections(suffix=sections)).find(self.providers).value
        return None if value is None else str(value)

    def spark(self, key: str) -> str | None:
        """Return a setting of the `[spark]` section, never by its bare name: `MASTER` may mean anything."""
        return self.text("spark", key=key)

    def section(self, *sections: str) -> dict[str, Any]:
        """Return a table of the file, such as `[spark.conf]`; empty if it does not exist."""
        *above, last = sections
        value = Lookup(key=last, sections=Sections(suffix=tuple(above))).find(self.providers).value
        return dict(value) if isinstance(value, Mapping) else {}


def read_settings(project: Path | None = None) -> Settings:
    """Read the environment and the files; the file of the project overrides the one in the home folder."""
    folders = settings_folders(project)
    return Settings(
        environment=dict(os.environ),
        secrets=merge_trees(read_files(SECRETS_FILE, folders), runtime_values("secrets")),
        document=merge_trees(read_files(CONFIG_FILE, folders), runtime_values("config")),
        secrets_folder=MOUNTED_SECRETS,
        extra_providers=extra_providers(),
    )


SECRETS_FILE: Final = "secrets.toml"
CONFIG_FILE: Final = "config.toml"

_log = logger(__name__)
_warned: set[Path] = set()


def read_files(name: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    """Return the file of this name in each folder, merged; later folders override earlier ones."""
    merged: dict[str, Any] = {}
    for folder in folders:
        merged = merge_trees(merged, _read(folder / name))
    return merged


def merge_trees(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two trees; values of `override` win.

    >>> merge_trees({"a": {"x": 1, "y": 1}}, {"a": {"y": 2}})
    {'a': {'x': 1, 'y': 2}}
    """
    merged = dict(base)
    for key, value in override.items():
        under = merged.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[key] = merge_trees(under, value)
        else:
            merged[key] = value
    return merged


def _read(path: Path) -> Mapping[str, Any]:
    try:
        facts = path.stat()
    except OSError:
        return {}
    if not stat.S_ISREG(facts.st_mode):
        return {}
    if path.name == SECRETS_FILE and os.name == "posix" and facts.st_mode & stat.S_IROTH:
        _warn_world_readable(path)
    return _parse(path, (facts.st_mtime_ns, facts.st_size, facts.st_ino))


def _warn_world_readable(path: Path) -> None:
    if path not in _warned:
        _warned.add(path)
        _log.warning("%s is readable by all users of this machine: run chmod 600 %s", path, path)


@lru_cache(maxsize=32)
def _parse(path: Path, version: tuple[int, ...]) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is not valid TOML: {error}", hint="correct the file", path=str(path)
        ) from error


ENTRY_POINT_GROUP = "penstock.config_providers"
SettingsKind = Literal["config", "secrets"]

_lock = threading.Lock()
_runtime_values: dict[SettingsKind, dict[str, Any]] = {"config": {}, "secrets": {}}
_registered_providers: list[ConfigProvider] = []


def write_value(kind: SettingsKind, path: str, value: Any) -> None:
    """Set a value for this process, as if it were in the file of that kind."""
    *sections, key = path.split(".")
    with _lock:
        tree = _runtime_values[kind]
        for section in sections:
            below = tree.get(section)
            tree[section] = tree = below if isinstance(below, dict) else {}
        tree[key] = value


def runtime_values(kind: SettingsKind) -> dict[str, Any]:
    """Return all values that were set, as a tree."""
    with _lock:
        return deepcopy(_runtime_values[kind])


def register_provider(provider: ConfigProvider) -> None:
    """Add a provider after all others; it replaces one of the same name."""
    with _lock:
        _registered_providers[:] = [
            *(registered for registered in _registered_providers if registered.name != provider.name),
            provider,
        ]


def extra_providers() -> tuple[ConfigProvider, ...]:
    """Return the installed providers by name, then the registered ones."""
    with _lock:
        registered = tuple(_registered_providers)
    return (*_entry_point_providers(), *registered)


@cache
def _entry_point_providers() -> tuple[ConfigProvider, ...]:
    return tuple(
        _load_provider(entry_point)
        for entry_point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name)
    )


def _load_provider(entry_point: EntryPoint) -> ConfigProvider:
    try:
        loaded = entry_point.load()
        provider = loaded() if callable(loaded) else loaded
    except Exception as error:
        raise ConfigProviderFailed(provider=entry_point.name, reason=type(error).__name__) from error
    if not isinstance(provider, ConfigProvider):
        raise ConfigProviderFailed(
            provider=entry_point.name, reason=f"{entry_point.value} is not a ConfigProvider"
        )
    return provider
