"""The interval of a scheduler, by dlt's import path."""

from penstock.interfaces.scheduler import TimeIntervalContext

__all__ = ["TimeIntervalContext"]
