"""Cursors, by dlt's import path."""

from penstock.interfaces.incremental import Incremental

__all__ = ["Incremental"]
