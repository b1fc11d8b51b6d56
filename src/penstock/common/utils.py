"""Functions on values, by dlt's import path."""

from penstock.compat.values import chunks, digest128, map_nested_values_in_place, set_working_dir, uniq_id
from penstock.compat.values import map_nested_values_in_place as map_nested_in_place

__all__ = [
    "chunks",
    "digest128",
    "map_nested_in_place",
    "map_nested_values_in_place",
    "set_working_dir",
    "uniq_id",
]
