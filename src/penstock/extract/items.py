"""Items with marks, by dlt's import path."""

from penstock.interfaces.items import MarkedItem as DataItemWithMeta

__all__ = ["DataItemWithMeta"]
