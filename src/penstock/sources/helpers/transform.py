"""Functions for `add_filter` and `add_map`, by dlt's import path."""

from penstock.sources.item_steps import pivot, skip_first, take_first

__all__ = ["pivot", "skip_first", "take_first"]
