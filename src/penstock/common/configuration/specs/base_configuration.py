"""The base of specs, by dlt's import path."""

from penstock.config import BaseConfiguration, CredentialsConfiguration, NotResolved, configspec

__all__ = ["BaseConfiguration", "CredentialsConfiguration", "NotResolved", "configspec"]
