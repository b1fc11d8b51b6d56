"""Quoted names for SQL, by dlt's import path."""

from penstock.compat.values import escape_postgres_identifier

__all__ = ["escape_postgres_identifier"]
