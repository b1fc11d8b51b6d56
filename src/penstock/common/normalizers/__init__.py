"""Naming conventions, by dlt's import path."""
