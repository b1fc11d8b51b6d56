"""Says what to install where the HTTP library is missing; imported before everything that needs it."""

from __future__ import annotations

from penstock.errors import MissingExtra

try:
    import requests
except ModuleNotFoundError as error:
    raise MissingExtra(extra="rest", needed_for="the REST source") from error

__all__ = ["requests"]
