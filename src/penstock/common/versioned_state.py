"""Versions of states, by dlt's import path."""

from penstock.package.layout import TVersionedState

__all__ = ["TVersionedState"]
