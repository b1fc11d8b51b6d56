"""What the environment and the files said when they were read, as a value that can be asked."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.config.lookup import Sections, search
from penstock.config.places import home_folder, settings_folder
from penstock.config.providers import ConfigProvider, Document, Environment
from penstock.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

SECRETS, CONFIG = "secrets.toml", "config.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment and the files said when they were read; `more` are providers of others."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    more: tuple[ConfigProvider, ...] = ()

    @property
    def providers(self) -> tuple[ConfigProvider, ...]:
        """Everybody who is asked for a value, in that order."""
        return (
            Environment(variables=self.environment),
            Document(title=SECRETS, tree=self.secrets, secret=True),
            Document(title=CONFIG, tree=self.document),
            *self.more,
        )

    def get(self, *sections: str, key: str) -> Any | None:
        """The value of `key`, looked for with all sections, then with fewer, dropped from the right.

        >>> settings = Settings(environment={"DESTINATION__BUCKET_URL": "lake"})
        >>> settings.get("destination", "delta", key="bucket_url")
        'lake'
        """
        return search(key, providers=self.providers, sections=Sections(asked=sections)).value

    def spark(self, key: str) -> str | None:
        """A setting of the `[spark]` section. Never by its bare name: `MASTER` may mean anything."""
        found = search(key, providers=self.providers, sections=Sections(kept=("spark",))).value
        return None if found is None else str(found)

    def section(self, *sections: str) -> dict[str, Any]:
        """A whole table of the file, such as `[spark.conf]`; empty when it is not there."""
        *above, last = sections
        found = search(last, providers=self.providers, sections=Sections(kept=tuple(above))).value
        return dict(found) if isinstance(found, Mapping) else {}


def read_settings(project: Path | None = None) -> Settings:
    """Read the environment and the files; the project's file is laid over the one in the home folder."""
    read: dict[str, dict[str, Any]] = {SECRETS: {}, CONFIG: {}}
    for folder in (home_folder(), settings_folder(project)):
        read = {name: _laid_over(below, _read(folder / name)) for name, below in read.items()}
    return Settings(environment=dict(os.environ), secrets=read[SECRETS], document=read[CONFIG])


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
