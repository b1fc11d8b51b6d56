"""Errors for packages of an extra that are not installed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def required_extra(extra: str, *, module: str, needed_for: str) -> Iterator[None]:
    """Turn the failed import of a module into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == module:
            raise MissingExtra(extra=extra, needed_for=needed_for) from error
        raise
