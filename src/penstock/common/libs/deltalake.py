"""Delta tables as objects of the library deltalake, by dlt's import path."""

from penstock.compat.native_tables import get_delta_tables

__all__ = ["get_delta_tables"]
