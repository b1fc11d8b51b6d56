"""Specs of settings and credentials, by dlt's import path."""

from penstock.compat.container import ConfigSectionContext
from penstock.config import (
    AnyAzureCredentials,
    AwsCredentials,
    AwsCredentialsWithoutDefaults,
    AzureCredentials,
    AzureCredentialsWithoutDefaults,
    AzureServicePrincipalCredentials,
    AzureServicePrincipalCredentialsWithoutDefaults,
    BaseConfiguration,
    ConnectionStringCredentials,
    CredentialsConfiguration,
    CredentialsWithDefault,
    GcpCredentials,
    GcpOAuthCredentials,
    GcpOAuthCredentialsWithoutDefaults,
    GcpServiceAccountCredentials,
    GcpServiceAccountCredentialsWithoutDefaults,
    OAuth2Credentials,
    SFTPCredentials,
    configspec,
    known_sections,
)
from penstock.config import GcpServiceAccountCredentials as GcpClientCredentialsWithDefault
from penstock.config import GcpServiceAccountCredentialsWithoutDefaults as GcpClientCredentials

__all__ = [
    "AnyAzureCredentials",
    "AwsCredentials",
    "AwsCredentialsWithoutDefaults",
    "AzureCredentials",
    "AzureCredentialsWithoutDefaults",
    "AzureServicePrincipalCredentials",
    "AzureServicePrincipalCredentialsWithoutDefaults",
    "BaseConfiguration",
    "ConfigSectionContext",
    "ConnectionStringCredentials",
    "CredentialsConfiguration",
    "CredentialsWithDefault",
    "GcpClientCredentials",
    "GcpClientCredentialsWithDefault",
    "GcpCredentials",
    "GcpOAuthCredentials",
    "GcpOAuthCredentialsWithoutDefaults",
    "GcpServiceAccountCredentials",
    "GcpServiceAccountCredentialsWithoutDefaults",
    "OAuth2Credentials",
    "SFTPCredentials",
    "configspec",
    "known_sections",
]
