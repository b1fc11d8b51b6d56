"""Contexts of the calling thread, by dlt's import path."""

from penstock.compat.container import Container

__all__ = ["Container"]
