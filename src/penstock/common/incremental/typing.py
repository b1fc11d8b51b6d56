"""Types of cursors, by dlt's import path."""

from penstock.interfaces.cursor_options import IncrementalRange as TIncrementalRange
from penstock.interfaces.cursor_options import LastValueFunc, OnCursorValueMissing

__all__ = ["LastValueFunc", "OnCursorValueMissing", "TIncrementalRange"]
