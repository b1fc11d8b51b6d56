"""Providers of settings: the environment, files, and plug-ins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.config.type_hints import is_secret
from penstock.errors import ConfigProviderFailed, PenstockError

if TYPE_CHECKING:
    from pathlib import Path

# A bare variable of this name belongs to the machine, even if an argument has the same name.
MACHINE_VARIABLES = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "LANG", "TERM", "HOSTNAME", "TMPDIR", "TZ")
)


class ConfigProvider(ABC):
    """Returns the value of a key in sections.

    Register a subclass with `penstock.config.register_provider`, or by an entry point in the group
    `penstock.config_providers` that names the class or a function without arguments.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the provider in messages."""

    @property
    def supports_secrets(self) -> bool:
        """Whether the provider may hold secrets."""
        return True

    @property
    def supports_sections(self) -> bool:
        """Whether keys are in sections; otherwise the provider is queried for the bare key only."""
        return True

    @abstractmethod
    def get_value(
        self, key: str, hint: Any, pipeline_name: str | None, *sections: str
    ) -> tuple[Any | None, str]:
        """Return the value or None, and the full name of the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentProvider(ConfigProvider):
    """Environment variables: sections and key joined by two underscores, in capitals.

    A secret may also be a file in `secrets_folder`, as container orchestrators mount them: its name in lower
    case, with a dash for each underscore. The file wins over the variable.
    """

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets_folder: Path | None = None

    @property
    def name(self) -> str:
        """`environment`."""
        return "environment"

    def get_value(
        self, key: str, hint: Any, pipeline_name: str | None, *sections: str
    ) -> tuple[Any | None, str]:
        """Return the text of the variable."""
        full = "__".join(part for part in (pipeline_name, *sections, key) if part).upper()
        if self.secrets_folder is not None and is_secret(hint):
            with suppress(OSError, UnicodeDecodeError):
                text = (self.secrets_folder / full.lower().replace("_", "-")).read_text(encoding="utf-8")
                return text.rstrip("\r\n"), full
        return (None if full in MACHINE_VARIABLES else self.variables.get(full)), full


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProvider(ConfigProvider):
    """A tree of sections, such as a TOML file."""

    title: str
    tree: Mapping[str, Any] = field(default_factory=dict, repr=False)
    holds_secrets: bool = False

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.title

    @property
    def supports_secrets(self) -> bool:
        """Whether the file is for secrets."""
        return self.holds_secrets

    def get_value(
        self,
        key: str,
        hint: Any,
        pipeline_name: str | None,
        *sections: str,
    ) -> tuple[Any | None, str]:
        """Return the value at the path, whatever its type."""
        path = [part for part in (pipeline_name, *sections, key) if part]
        value: Any = self.tree
        for part in path:
            if not isinstance(value, Mapping) or part not in value:
                return None, ".".join(path)
            value = value[part]
        return value, ".".join(path)


class CustomLoaderDocProvider(ConfigProvider):
    """A provider for a tree of sections that a function loads once, at the first query.

    >>> vault = CustomLoaderDocProvider("vault", lambda: {"sources": {"token": "t"}})
    >>> vault.get_value("token", str, None, "sources")
    ('t', 'sources.token')
    """

    def __init__(
        self, name: str, loader: Callable[[], Mapping[str, Any]], *, supports_secrets: bool = True
    ) -> None:
        self._name, self._loader, self._supports_secrets = name, loader, supports_secrets
        self._document: DocumentProvider | None = None

    @property
    def name(self) -> str:
        """The name that was passed."""
        return self._name

    @property
    def supports_secrets(self) -> bool:
        """The value that was passed."""
        return self._supports_secrets

    def get_value(
        self, key: str, hint: Any, pipeline_name: str | None, *sections: str
    ) -> tuple[Any | None, str]:
        """Return the value at the path of the loaded tree."""
        if self._document is None:
            self._document = DocumentProvider(title=self._name, tree=self._loader())
        return self._document.get_value(key, hint, pipeline_name, *sections)


def query_provider(
    provider: ConfigProvider, key: str, hint: Any, pipeline_name: str | None, *sections: str
) -> tuple[Any | None, str]:
    """Query a provider; any error becomes `ConfigProviderFailed`, because a value could be missed."""
    try:
        return provider.get_value(key, hint, pipeline_name, *sections)
    except PenstockError:
        raise
    except Exception as error:
        raise ConfigProviderFailed(provider=provider.name, reason=type(error).__name__) from error
