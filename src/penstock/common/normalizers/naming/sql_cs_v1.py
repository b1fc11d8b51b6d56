"""The naming convention sql_cs_v1, by dlt's import path."""

from penstock.schema.naming import SqlCs as NamingConvention

__all__ = ["NamingConvention"]
