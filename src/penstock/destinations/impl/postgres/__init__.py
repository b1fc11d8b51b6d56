"""Postgres, by dlt's import paths."""
