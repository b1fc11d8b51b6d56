"""Specs of credentials, by dlt's import path.

>>> from penstock.sources.credentials import ConnectionStringCredentials
>>> ConnectionStringCredentials("postgresql://ada@db/shop").host
'db'
"""

from penstock.config import (
    AwsCredentials,
    AzureCredentials,
    AzureServicePrincipalCredentials,
    ConnectionStringCredentials,
    CredentialsConfiguration,
    FileSystemCredentials,
    GcpCredentials,
    GcpOAuthCredentials,
    GcpServiceAccountCredentials,
    OAuth2Credentials,
    SFTPCredentials,
    configspec,
)

__all__ = [
    "AwsCredentials",
    "AzureCredentials",
    "AzureServicePrincipalCredentials",
    "ConnectionStringCredentials",
    "CredentialsConfiguration",
    "FileSystemCredentials",
    "GcpCredentials",
    "GcpOAuthCredentials",
    "GcpServiceAccountCredentials",
    "OAuth2Credentials",
    "SFTPCredentials",
    "configspec",
]
