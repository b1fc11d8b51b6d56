"""The scope of lookups: sections and pipeline, in the one context variable of this package.

Set by pipeline, extract and load, and copied into their threads. Other threads that have set nothing have the
pipeline that was activated last. Read when a decorated function is called.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.config.secret import SecretText
from penstock.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The pipeline and the default sections of lookups."""

    pipeline_name: str | None = None
    sections: tuple[str, ...] = ()
    resolved: ResolvedValues | None = field(default=None, repr=False)
    """Records the settings that are found."""


_scope: ContextVar[Scope | None] = ContextVar("penstock_config_scope", default=None)


class _ProcessScope:
    """The scope of threads that have set none."""

    scope = Scope()


def scope() -> Scope:
    """Return the scope of the calling thread or task.

    >>> scope()
    Scope(pipeline_name=None, sections=())
    """
    return _scope.get() or _ProcessScope.scope


@contextmanager
def in_scope(
    *,
    pipeline_name: str | None = None,
    sections: tuple[str, ...] | None = None,
    resolved: ResolvedValues | None = None,
) -> Iterator[Scope]:
    """Change the scope within a block; None keeps a value.

    >>> with in_scope(pipeline_name="shop", sections=("sources", "hub", "github")):
    ...     with in_scope(sections=resource_sections("sources", "files", "issues")) as inner:
    ...         inner
    Scope(pipeline_name='shop', sections=('sources', 'hub', 'issues'))
    """
    token = _scope.set(_updated_scope(pipeline_name, sections, resolved))
    try:
        yield scope()
    finally:
        _scope.reset(token)


def enter_scope(*, pipeline_name: str) -> None:
    """Change the pipeline until further notice, when it is activated; an empty name clears it.

    Threads that have set nothing have the same one.
    """
    _scope.set(_updated_scope(pipeline_name, None))
    _ProcessScope.scope = Scope(pipeline_name=pipeline_name or None)


def resource_sections(*own: str) -> tuple[str, ...]:
    """Return the sections of a resource: its own, with the section of its source.

    A resource without a source reads `sources.<its module>.<its name>`, one of a source `sources.<section of
    the source>.<its name>`.
    """
    match scope().sections, own:
        case ("sources", section, *_), ("sources", _, *rest):
            return ("sources", section, *rest)
        case _:
            return own


def _updated_scope(
    pipeline_name: str | None, sections: tuple[str, ...] | None, resolved: ResolvedValues | None = None
) -> Scope:
    now = scope()
    return replace(
        now,
        pipeline_name=now.pipeline_name if pipeline_name is None else pipeline_name or None,
        sections=now.sections if sections is None else sections,
        resolved=now.resolved if resolved is None else resolved,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedValue:
    """A setting that was found: its provider, key, and value as text.

    >>> print(ResolvedValue(provider="config.toml", key="load.workers", value="8"))
    config.toml: load.workers = 8
    """

    provider: str
    key: str
    value: str

    def asdict(self) -> dict[str, str]:
        """Return plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.provider}: {self.key} = {self.value}"


class ResolvedValues:
    """A thread-safe record of the settings that were found, each once."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def record(self, provider: str, key: str, value: Any) -> None:
        """Record a setting; never called for secrets."""
        if not isinstance(value, SecretText):
            with self._lock:
                self._values[provider, key] = value

    def values(self) -> tuple[ResolvedValue, ...]:
        """Return all settings, sorted by name."""
        with self._lock:
            values = dict(self._values)
        return tuple(
            ResolvedValue(provider=provider, key=key, value=_display_text(values[provider, key]))
            for provider, key in sorted(values)
        )


def _display_text(value: Any) -> str:
    """Return only the names of a section, because any of its values may be a secret."""
    if isinstance(value, Mapping):
        return f"a table with {', '.join(sorted(map(str, value)))}" if value else "an empty table"
    return redact(str(value))
