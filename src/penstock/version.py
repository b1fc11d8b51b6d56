"""The version of penstock."""

from typing import Final

__version__: Final = "0.1.0"

__all__ = ["__version__"]
