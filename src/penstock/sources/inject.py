"""The one place where arguments of declared functions are filled from configuration."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from penstock.config import function_spec, resolve_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import BaseConfiguration, Settings


def injected_arguments(
    function: Callable[..., Any],
    *,
    spec: type[BaseConfiguration] | None,
    explicit: Mapping[str, Any],
    sections: tuple[str, ...],
    settings: Callable[[], Settings],
) -> dict[str, Any]:
    """The arguments that are given, and those that configuration adds; settings are read if need be."""
    if not inspect.isroutine(function):
        return dict(explicit)
    taken = function_spec(function, spec=spec)
    if not taken.fields:
        return dict(explicit)
    found = resolve_arguments(taken, explicit, settings=settings(), sections=sections)
    return {**explicit, **found}
