"""Cursors, by dlt's import path."""
