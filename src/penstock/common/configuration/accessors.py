"""Access to settings by key, by dlt's import path."""

from penstock.config.accessor import config, secrets

__all__ = ["config", "secrets"]
