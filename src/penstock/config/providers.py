"""Who can be asked for a value: the environment, the files, and what others plug in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class ConfigProvider(ABC):
    """Answers one question: is there a value for this key in these sections?"""

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
        """Whether keys stand in sections here; a provider without is asked for the bare key."""
        return True

    @abstractmethod
    def get_value(
        self, key: str, hint: Any, pipeline_name: str | None, *sections: str
    ) -> tuple[Any | None, str]:
        """The value or None, and the full name it was looked for by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(ConfigProvider):
    """Environment variables: sections and key joined by two underscores, in capitals."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """`environment`."""
        return "environment"

    def get_value(
        self,
        key: str,
        hint: Any,
        pipeline_name: str | None,
        *sections: str,
    ) -> tuple[Any | None, str]:
        """The variable's text."""
        full = "__".join(part for part in (pipeline_name, *sections, key) if part).upper()
        return self.variables.get(full), full


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(ConfigProvider):
    """A tree of sections, such as a TOML file."""

    title: str
    tree: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret: bool = False

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.title

    @property
    def supports_secrets(self) -> bool:
        """Whether the file is one for secrets."""
        return self.secret

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
