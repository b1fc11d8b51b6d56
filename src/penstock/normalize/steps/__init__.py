"""The road of raw rows, in order: parse texts or fit typed columns, then give each row an id."""

from penstock.normalize.steps.pack import pack_rows
from penstock.normalize.steps.parse import parse_rows
from penstock.normalize.steps.row_ids import hash_row_ids
from penstock.normalize.steps.stamp import add_row_ids

__all__ = ["add_row_ids", "hash_row_ids", "pack_rows", "parse_rows"]
