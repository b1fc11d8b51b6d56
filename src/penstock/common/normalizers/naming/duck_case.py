"""The naming convention duck_case, by dlt's import path."""

from penstock.schema.naming import DuckCase as NamingConvention

__all__ = ["NamingConvention"]
