"""The version of penstock."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final


def _installed_version() -> str:
    """Return the version of the installed distribution; `unknown` for files that were not installed."""
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "unknown"


__version__: Final = _installed_version()

__all__ = ["__version__"]
