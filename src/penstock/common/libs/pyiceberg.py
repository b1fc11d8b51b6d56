"""Iceberg tables as objects of the library pyiceberg, by dlt's import path."""

from penstock.compat.native_tables import get_iceberg_tables

__all__ = ["get_iceberg_tables"]
