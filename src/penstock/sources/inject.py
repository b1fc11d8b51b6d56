"""The one place where arguments of declared functions are filled from configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.config import BaseConfiguration, Settings


def injected(
    function: Callable[..., Any],
    *,
    spec: type[BaseConfiguration] | None,
    given: Mapping[str, Any],
    sections: tuple[str, ...],
    settings: Callable[[], Settings],
) -> dict[str, Any]:
    """The arguments that are given, and those that configuration adds."""
    return dict(given)
