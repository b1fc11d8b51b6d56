"""Models of pydantic, by dlt's import path."""

from penstock.compat.types import DltConfig

__all__ = ["DltConfig"]
