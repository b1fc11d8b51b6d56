"""The naming convention sql_ci_v1, by dlt's import path."""

from penstock.schema.naming import SqlCi as NamingConvention

__all__ = ["NamingConvention"]
