"""What the environment and the files said when they were read, as a value that can be asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.config.folders import settings_folders
from penstock.config.lookup import Lookup, Sections
from penstock.config.providers import ConfigProvider, DocumentProvider, EnvironmentProvider
from penstock.config.runtime_values import extra_providers, runtime_values
from penstock.config.toml_files import CONFIG_FILE, SECRETS_FILE, merge_trees, read_files

MOUNTED_SECRETS = Path("/run/secrets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment and the files said when they were read; `more` are the providers of others."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, Any] = field(default_factory=dict, repr=False)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secrets_folder: Path | None = None
    extra_providers: tuple[ConfigProvider, ...] = field(default=(), repr=False)

    @property
    def providers(self) -> tuple[ConfigProvider, ...]:
        """Everybody who is asked for a value, in that order."""
        return (
            EnvironmentProvider(variables=self.environment, secrets_folder=self.secrets_folder),
            DocumentProvider(title=SECRETS_FILE, tree=self.secrets, holds_secrets=True),
            DocumentProvider(title=CONFIG_FILE, tree=self.document),
            *self.extra_providers,
        )

    def get(self, *sections: str, key: str) -> Any | None:
        """The value of `key`, looked for with all sections, then with fewer, dropped from the right.

        >>> settings = Settings(environment={"DESTINATION__BUCKET_URL": "lake"})
        >>> settings.get("destination", "delta", key="bucket_url")
        'lake'
        """
        return Lookup(key=key, sections=Sections(requested=sections)).find(self.providers).value

    def spark(self, key: str) -> str | None:
        """A setting of the `[spark]` section. Never by its bare name: `MASTER` may mean anything."""
        found = Lookup(key=key, sections=Sections(suffix=("spark",))).find(self.providers).value
        return None if found is None else str(found)

    def section(self, *sections: str) -> dict[str, Any]:
        """A whole table of the file, such as `[spark.conf]`; empty when it is not there."""
        *above, last = sections
        found = Lookup(key=last, sections=Sections(suffix=tuple(above))).find(self.providers).value
        return dict(found) if isinstance(found, Mapping) else {}


def read_settings(project: Path | None = None) -> Settings:
    """Read the environment and the files; the project's file is laid over the one in the home folder."""
    folders = settings_folders(project)
    return Settings(
        environment=dict(os.environ),
        secrets=merge_trees(read_files(SECRETS_FILE, folders), runtime_values("secrets")),
        document=merge_trees(read_files(CONFIG_FILE, folders), runtime_values("config")),
        secrets_folder=MOUNTED_SECRETS,
        extra_providers=extra_providers(),
    )
