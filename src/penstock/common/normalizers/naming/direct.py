"""The naming convention direct, by dlt's import path."""

from penstock.schema.naming import Direct as NamingConvention

__all__ = ["NamingConvention"]
