"""Who can be asked for a value: the environment, the files, and what others plug in."""

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

# A bare variable of this name is the machine's, whatever an argument of the same name hopes for.
MACHINE_VARIABLES = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "LANG", "TERM", "HOSTNAME", "TMPDIR", "TZ")
)


class ConfigProvider(ABC):
    """Answers one question: is there a value for this key in these sections?

    Write your own, and register it with `penstock.config.register_provider`, or by an entry point in the
    group `penstock.config_providers` that names the class or a function without arguments.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What people know the provider by, for messages."""

    @property
    def supports_secrets(self) -> bool:
        """Whether secrets may be kept here."""
        return True

    @property
    def supports_sections(self) -> bool:
        """Whether keys stand in sections here; a provider without is asked for the bare key only."""
        return True

    @abstractmethod
    def get_value(
        self, key: str, hint: Any, pipeline_name: str | None, *sections: str
    ) -> tuple[Any | None, str]:
        """The value or None, and the full name it was looked for by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentProvider(ConfigProvider):
    """Environment variables: sections and key joined by two underscores, in capitals.

    A secret may also be a file in the folder `files`, as orchestrators of containers mount them: its name in
    small letters, with a dash for each underscore. At one place the file wins.
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
        """The variable's text."""
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
        """Whether the file is one for secrets."""
        return self.holds_secrets

    def get_value(
        self,
        key: str,
        hint: Any,
        pipeline_name: str | None,
        *sections: str,
    ) -> tuple[Any | None, str]:
        """The value at the path, whatever its type."""
        path = [part for part in (pipeline_name, *sections, key) if part]
        found: Any = self.tree
        for part in path:
            if not isinstance(found, Mapping) or part not in found:
                return None, ".".join(path)
            found = found[part]
        return found, ".".join(path)


class CustomLoaderDocProvider(ConfigProvider):
    """A provider over any tree of sections that a function loads: once, when it is first asked.

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
        """As given."""
        return self._name

    @property
    def supports_secrets(self) -> bool:
        """As given."""
        return self._supports_secrets

    def get_value(
        self, key: str, hint: Any, pipeline_name: str | None, *sections: str
    ) -> tuple[Any | None, str]:
        """The value at the path of the loaded tree."""
        if self._document is None:
            self._document = DocumentProvider(title=self._name, tree=self._loader())
        return self._document.get_value(key, hint, pipeline_name, *sections)


def query_provider(
    provider: ConfigProvider, key: str, hint: Any, pipeline_name: str | None, *sections: str
) -> tuple[Any | None, str]:
    """Ask a provider; whatever it raises is told as its failure, because going on would hide a value."""
    try:
        return provider.get_value(key, hint, pipeline_name, *sections)
    except PenstockError:
        raise
    except Exception as error:
        raise ConfigProviderFailed(provider=provider.name, reason=type(error).__name__) from error
