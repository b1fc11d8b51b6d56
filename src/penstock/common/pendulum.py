"""The library pendulum, by dlt's import path."""

from penstock.compat import pendulum

__all__ = ["pendulum"]
