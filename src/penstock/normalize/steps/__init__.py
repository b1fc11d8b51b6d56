"""The road of raw rows, in order: parse, then give each an id."""

from penstock.normalize.steps.parse import parse_rows
from penstock.normalize.steps.stamp import stamp_rows

__all__ = ["parse_rows", "stamp_rows"]
