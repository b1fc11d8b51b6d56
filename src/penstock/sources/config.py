"""Specs and injection of settings, by dlt's import path."""

from penstock.config import configspec, with_config

__all__ = ["configspec", "with_config"]
