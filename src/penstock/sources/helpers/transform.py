"""Functions for `add_filter` and `add_map`, by dlt's import path."""

from penstock.sources.frame_steps import add_row_hash_to_table
from penstock.sources.item_steps import pivot, skip_first, take_first

__all__ = ["add_row_hash_to_table", "pivot", "skip_first", "take_first"]
