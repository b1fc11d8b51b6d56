"""Lookups by section and key: the environment first, then `config.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.config.places import home_folder, settings_folder
from penstock.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

FILE = "config.toml"
# The rest of the file is left alone until the whole of the configuration is built.
SECTIONS = ("spark", "destination")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment and the files said when they were read."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def get(self, *sections: str, key: str) -> Any | None:
        """The value of `key`, looked for with all sections, then with fewer, dropped from the right.

        >>> settings = Settings(environment={"DESTINATION__BUCKET_URL": "lake"})
        >>> settings.get("destination", "delta", key="bucket_url")
        'lake'
        """
        for length in range(len(sections), -1, -1):
            found = self._in_environment((*sections[:length], key))
            if found is not None:
                return found
        for length in range(len(sections), 0, -1):
            found = self._in_document((*sections[:length], key))
            if found is not None:
                return found
        return None

    def spark(self, key: str) -> str | None:
        """A setting of the `[spark]` section. Never by its bare name: `MASTER` may mean anything."""
        found = self._in_environment(("spark", key)) or self._in_document(("spark", key))
        return None if found is None else str(found)

    def section(self, *sections: str) -> dict[str, Any]:
        """A whole table of the file, such as `[spark.conf]`; empty when it is not there."""
        found = self._in_document(sections)
        return dict(found) if isinstance(found, Mapping) else {}

    def _in_environment(self, path: tuple[str, ...]) -> str | None:
        return self.environment.get("__".join(path).upper())

    def _in_document(self, path: tuple[str, ...]) -> Any | None:
        found: Any = self.document
        for part in path:
            if not isinstance(found, Mapping) or part not in found:
                return None
            found = found[part]
        return found


def read_settings(project: Path | None = None) -> Settings:
    """Read the environment and the files; the project's file is laid over the one in the home folder."""
    document: dict[str, Any] = {}
    for folder in (home_folder(), settings_folder(project)):
        document = _laid_over(document, _read(folder / FILE))
    return Settings(
        environment=dict(os.environ), document={name: document.get(name, {}) for name in SECTIONS}
    )


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is not valid TOML: {error}", hint="correct the file", path=str(path)
        ) from error


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[key] = _laid_over(under, value)
        else:
            merged[key] = value
    return merged
