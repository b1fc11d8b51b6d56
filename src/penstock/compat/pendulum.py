"""The library pendulum, which is imported at the first use of one of its names."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penstock.sources.extras import required_extra


def __getattr__(name: str) -> Any:
    """Return a name of pendulum; without pendulum the error names the extra to install."""
    if name.startswith("__"):  # looked up by tools that inspect modules
        raise AttributeError(name)
    with required_extra("pendulum", module="pendulum", needed_for=f"pendulum.{name}"):
        return getattr(import_module("pendulum"), name)
