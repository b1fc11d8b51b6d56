"""Signals and messages of a run, by dlt's import path."""

from penstock.common.runtime import signals

__all__ = ["signals"]
