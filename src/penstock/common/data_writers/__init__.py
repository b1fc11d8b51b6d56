"""Forms of items, by dlt's import path."""

from penstock.compat.types import TDataItemFormat

__all__ = ["TDataItemFormat"]
