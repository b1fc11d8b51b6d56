"""The log for messages of sources, with the functions of a logger; secrets in messages are masked."""

from __future__ import annotations

import logging
from typing import Any, Final

from penstock.config import logger

_LOGGER: Final = logger("penstock.user")


def log_level() -> str:
    """Return the name of the lowest level that is logged.

    >>> log_level()
    'WARNING'
    """
    return logging.getLevelName(_LOGGER.getEffectiveLevel())


def is_logging() -> bool:
    """Return whether a handler receives the messages."""
    return _LOGGER.hasHandlers()


def __getattr__(name: str) -> Any:
    """Return an attribute of the logger, such as `info` or `warning`."""
    return getattr(_LOGGER, name)
