"""The base of naming conventions, by dlt's import path."""

from penstock.schema import NamingConvention

__all__ = ["NamingConvention"]
