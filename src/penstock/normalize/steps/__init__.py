"""The road of raw rows, in order: parse texts or fit typed columns, then give each row an id."""

from penstock.normalize.steps.fit import fit_rows
from penstock.normalize.steps.identify import identify_rows
from penstock.normalize.steps.parse import parse_rows
from penstock.normalize.steps.stamp import stamp_rows

__all__ = ["fit_rows", "identify_rows", "parse_rows", "stamp_rows"]
