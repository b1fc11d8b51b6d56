"""Specs of settings and credentials, by dlt's import path."""

from penstock.compat.container import ConfigSectionContext
from penstock.config import (
    AwsCredentials,
    BaseConfiguration,
    ConnectionStringCredentials,
    CredentialsConfiguration,
    configspec,
    known_sections,
)

__all__ = [
    "AwsCredentials",
    "BaseConfiguration",
    "ConfigSectionContext",
    "ConnectionStringCredentials",
    "CredentialsConfiguration",
    "configspec",
    "known_sections",
]
