"""Retries of loads, by dlt's import path."""

from penstock.pipeline.retry import retry_load

__all__ = ["retry_load"]
