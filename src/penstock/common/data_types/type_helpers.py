"""Data types of Python classes, by dlt's import path."""

from penstock.compat.values import py_type_to_sc_type

__all__ = ["py_type_to_sc_type"]
