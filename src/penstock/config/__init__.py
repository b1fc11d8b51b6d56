"""Settings: read once at the start of a call and passed on as values.

Input:   environment variables, `secrets.toml`, `config.toml`, and other providers.
Output:  `Settings` for lookups; specs and arguments filled from it; texts without secrets.
Imports: errors.
"""

from penstock.config import known_sections
from penstock.config.accessor import ConfigAccessor, SecretsAccessor
from penstock.config.azure_credentials import (
    AnyAzureCredentials,
    AzureCredentials,
    AzureCredentialsBase,
    AzureCredentialsWithoutDefaults,
    AzureServicePrincipalCredentials,
    AzureServicePrincipalCredentialsWithoutDefaults,
)
from penstock.config.credentials import (
    AwsCredentials,
    AwsCredentialsWithoutDefaults,
    ConnectionStringCredentials,
    FileSystemCredentials,
)
from penstock.config.explain import Explanation, explain
from penstock.config.folders import home_folder, pipelines_folder, settings_folder
from penstock.config.gcp_credentials import (
    GcpCredentials,
    GcpDefaultCredentials,
    GcpOAuthCredentials,
    GcpOAuthCredentialsWithoutDefaults,
    GcpServiceAccountCredentials,
    GcpServiceAccountCredentialsWithoutDefaults,
    OAuth2Credentials,
)
from penstock.config.inject import get_fun_spec, resolve_arguments, with_config
from penstock.config.native_login import CredentialsWithDefault
from penstock.config.providers import ConfigProvider, CustomLoaderDocProvider
from penstock.config.resolution import resolve_configuration
from penstock.config.scope import (
    ResolvedValue,
    ResolvedValues,
    Scope,
    enter_scope,
    in_scope,
    resource_sections,
    scope,
)
from penstock.config.secret import SecretText, TSecretStrValue, TSecretValue
from penstock.config.settings import Settings, read_settings, register_provider
from penstock.config.sftp_credentials import SFTPCredentials
from penstock.config.signature import ConfigValue, FunctionSpec, config_value, function_spec, secrets_value
from penstock.config.specs import (
    BaseConfiguration,
    CredentialsConfiguration,
    NotResolved,
    TCredentials,
    configspec,
)
from penstock.redaction import RedactingFilter, logger, redact, remember_secret

__all__ = [
    "AnyAzureCredentials",
    "AwsCredentials",
    "AwsCredentialsWithoutDefaults",
    "AzureCredentials",
    "AzureCredentialsBase",
    "AzureCredentialsWithoutDefaults",
    "AzureServicePrincipalCredentials",
    "AzureServicePrincipalCredentialsWithoutDefaults",
    "BaseConfiguration",
    "ConfigAccessor",
    "ConfigProvider",
    "ConfigValue",
    "ConnectionStringCredentials",
    "CredentialsConfiguration",
    "CredentialsWithDefault",
    "CustomLoaderDocProvider",
    "Explanation",
    "FileSystemCredentials",
    "FunctionSpec",
    "GcpCredentials",
    "GcpDefaultCredentials",
    "GcpOAuthCredentials",
    "GcpOAuthCredentialsWithoutDefaults",
    "GcpServiceAccountCredentials",
    "GcpServiceAccountCredentialsWithoutDefaults",
    "NotResolved",
    "OAuth2Credentials",
    "RedactingFilter",
    "ResolvedValue",
    "ResolvedValues",
    "SFTPCredentials",
    "Scope",
    "SecretText",
    "SecretsAccessor",
    "Settings",
    "TCredentials",
    "TSecretStrValue",
    "TSecretValue",
    "config_value",
    "configspec",
    "enter_scope",
    "explain",
    "function_spec",
    "get_fun_spec",
    "home_folder",
    "in_scope",
    "known_sections",
    "logger",
    "pipelines_folder",
    "read_settings",
    "redact",
    "register_provider",
    "remember_secret",
    "resolve_arguments",
    "resolve_configuration",
    "resource_sections",
    "scope",
    "secrets_value",
    "settings_folder",
    "with_config",
]
