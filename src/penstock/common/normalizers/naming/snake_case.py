"""The naming convention snake_case, by dlt's import path."""

from penstock.schema.naming import SnakeCase as NamingConvention

__all__ = ["NamingConvention"]
