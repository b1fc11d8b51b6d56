"""The adapter of Postgres, by dlt's import path."""

from penstock.destinations.adapters import postgres_adapter

__all__ = ["postgres_adapter"]
