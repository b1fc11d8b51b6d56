"""The settings that counted while something ran: for traces, without secrets."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.config.secret import SecretText
from penstock.redaction import redact


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedValue:
    """A setting that was found: who said it, by which name, and what, as a text.

    >>> print(ResolvedValue(provider="config.toml", key="load.workers", value="8"))
    config.toml: load.workers = 8
    """

    provider: str
    key: str
    value: str

    def asdict(self) -> dict[str, str]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.provider}: {self.key} = {self.value}"


class ResolvedValues:
    """Takes note of settings as they are found, each once; threads may do it side by side."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def record(self, provider: str, key: str, value: Any) -> None:
        """A setting was found; nobody calls this for secrets."""
        if not isinstance(value, SecretText):
            with self._lock:
                self._values[provider, key] = value

    def values(self) -> tuple[ResolvedValue, ...]:
        """All settings, in the order of their names."""
        with self._lock:
            found = dict(self._values)
        return tuple(
            ResolvedValue(provider=provider, key=key, value=_display_text(found[provider, key]))
            for provider, key in sorted(found)
        )


def _display_text(value: Any) -> str:
    """Of a whole section the names: what may stand in it nobody knows."""
    if isinstance(value, Mapping):
        return f"a table with {', '.join(sorted(map(str, value)))}" if value else "an empty table"
    return redact(str(value))
