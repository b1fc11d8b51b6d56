"""Signals that end a run, by dlt's import path."""

from time import sleep

from penstock.pipeline.signals import interrupt_on_sigterm as intercepted_signals

__all__ = ["intercepted_signals", "sleep"]
