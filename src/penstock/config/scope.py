"""The sections that lookups of the moment stand in: the one context variable of this room.

Set by pipeline, extract and load, and copied into their threads. Read where a decorated function is called.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.config.resolved_values import ResolvedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose settings are looked for: of which pipeline, and in which sections where a call names none."""

    pipeline_name: str | None = None
    sections: tuple[str, ...] = ()
    resolved: ResolvedValues | None = field(default=None, repr=False)
    """Who takes note of settings that are found."""


_scope: ContextVar[Scope] = ContextVar("penstock_config_scope", default=Scope())  # noqa: B039 - a frozen value


def scope() -> Scope:
    """The scope of the calling thread or task.

    >>> scope()
    Scope(pipeline_name=None, sections=())
    """
    return _scope.get()


@contextmanager
def in_scope(
    *,
    pipeline_name: str | None = None,
    sections: tuple[str, ...] | None = None,
    resolved: ResolvedValues | None = None,
) -> Iterator[Scope]:
    """Change the scope for the time of a block; what is None stays as it is.

    >>> with in_scope(pipeline_name="shop", sections=("sources", "hub", "github")):
    ...     with in_scope(sections=resource_sections("sources", "files", "issues")) as inner:
    ...         inner
    Scope(pipeline_name='shop', sections=('sources', 'hub', 'issues'))
    """
    token = _scope.set(_updated_scope(pipeline_name, sections, resolved))
    try:
        yield _scope.get()
    finally:
        _scope.reset(token)


def enter_scope(*, pipeline_name: str | None = None, sections: tuple[str, ...] | None = None) -> None:
    """Change the scope from here on: for a pipeline that becomes the active one; an empty name is none."""
    _scope.set(_updated_scope(pipeline_name, sections))


def resource_sections(*own: str) -> tuple[str, ...]:
    """The sections of a resource: its own, with the section of the source it runs in.

    Alone a resource looks in `sources.<its module>.<its name>`, in a source in `sources.<section of the
    source>.<its name>`.
    """
    match scope().sections, own:
        case ("sources", section, *_), ("sources", _, *rest):
            return ("sources", section, *rest)
        case _:
            return own


def _updated_scope(
    pipeline_name: str | None, sections: tuple[str, ...] | None, resolved: ResolvedValues | None = None
) -> Scope:
    now = _scope.get()
    return replace(
        now,
        pipeline_name=now.pipeline_name if pipeline_name is None else pipeline_name or None,
        sections=now.sections if sections is None else sections,
        resolved=now.resolved if resolved is None else resolved,
    )
