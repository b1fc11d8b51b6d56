"""The configuration sections in which the arguments of a declared function are looked up."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import known_sections

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = known_sections.SOURCES


def module_section(function: Callable[..., Any]) -> str | None:
    """Return the section of the module: its `__source_name__`, or the last part of its name."""
    module = _module(function)
    if module is None:
        return None
    name = str(getattr(module, "__source_name__", None) or module.__name__.rpartition(".")[2])
    file = module_file(function)
    return file.stem if name == "__main__" and file else name


def module_file(function: Callable[..., Any]) -> Path | None:
    """Return the file of the module, if it has one."""
    file = getattr(_module(function), "__file__", None)
    return Path(file) if file else None


def _module(function: Callable[..., Any]) -> Any:
    # Not by inspect.getmodule, which searches all modules if it finds none.
    return sys.modules.get(getattr(inspect.unwrap(function), "__module__", None) or "")


def sections_of(section: str | None, name: str) -> tuple[str, ...]:
    """Return the section path of a source or a resource: `sources.<section>.<name>`.

    >>> sections_of("hub", "issues")
    ('sources', 'hub', 'issues')
    """
    return (SOURCES, section, name) if section else (SOURCES, name)
