"""Credentials of Azure storage."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar

from penstock.config.native_login import CredentialsWithDefault, login_library
from penstock.config.secret import TSecretStrValue  # noqa: TC001 - the spec needs it at run time
from penstock.config.specs import CredentialsConfiguration, configspec


@configspec
class AzureCredentialsBase(CredentialsConfiguration):
    """The storage account of Azure that the credentials are for."""

    azure_storage_account_name: str = None  # type: ignore[assignment]  # set by settings
    azure_account_host: str | None = None

    def to_adlfs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `adlfs.AzureBlobFileSystem`."""
        return {"account_name": self.azure_storage_account_name, "account_host": self.azure_account_host}

    def to_native_representation(self) -> dict[str, Any]:
        """Return all fields with values. They contain secrets."""
        return {name: value for name, value in self if value is not None}


@configspec
class AzureCredentialsWithoutDefaults(AzureCredentialsBase):
    """A storage account with its key or with a SAS token.

    >>> login = AzureCredentialsWithoutDefaults(azure_storage_sas_token="hush")
    >>> login.azure_storage_sas_token
    ***
    """

    azure_storage_account_key: TSecretStrValue | None = None
    azure_storage_sas_token: TSecretStrValue = None  # type: ignore[assignment]  # set by settings

    def on_partial(self) -> bool:
        """Return whether the account has a key, which replaces the SAS token."""
        return bool(self.azure_storage_account_name and self.azure_storage_account_key)

    def to_adlfs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `adlfs.AzureBlobFileSystem`."""
        return {
            **super().to_adlfs_credentials(),
            "account_key": self.azure_storage_account_key,
            "sas_token": self.azure_storage_sas_token,
        }


@configspec
class AzureServicePrincipalCredentialsWithoutDefaults(AzureCredentialsBase):
    """A storage account with the secret of a service principal.

    >>> AzureServicePrincipalCredentialsWithoutDefaults(azure_client_secret="hush").azure_client_secret
    ***
    """

    azure_tenant_id: str = None  # type: ignore[assignment]  # set by settings
    azure_client_id: str = None  # type: ignore[assignment]  # set by settings
    azure_client_secret: TSecretStrValue = None  # type: ignore[assignment]  # set by settings

    def to_adlfs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `adlfs.AzureBlobFileSystem`."""
        return {
            **super().to_adlfs_credentials(),
            "tenant_id": self.azure_tenant_id,
            "client_id": self.azure_client_id,
            "client_secret": self.azure_client_secret,
        }


class AzureDefaultCredentials(CredentialsWithDefault, AzureCredentialsBase):
    """A storage account with the login of the machine, as `azure-identity` finds it."""

    def on_partial(self) -> bool:
        """Return whether the account is set and `azure-identity` is installed."""
        with suppress(ModuleNotFoundError):
            import_module("azure.identity")
            return bool(self.azure_storage_account_name)
        return False

    def default_credentials(self) -> Any:
        """Return `azure.identity.DefaultAzureCredential()`; needs `azure-identity`."""
        return login_library("azure.identity", "azure-identity", type(self)).DefaultAzureCredential()

    def to_adlfs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `adlfs.AzureBlobFileSystem`; `anon=False` uses the login of the machine."""
        arguments = super().to_adlfs_credentials()
        return {**arguments, "anon": False} if self.has_default_credentials() else arguments


class AzureCredentials(AzureDefaultCredentials, AzureCredentialsWithoutDefaults):
    """A storage account with its key or a SAS token, or else with the login of the machine."""

    def on_partial(self) -> bool:
        """Return whether the account has a key, or the machine may have a login."""
        return AzureCredentialsWithoutDefaults.on_partial(self) or super().on_partial()

    def has_default_credentials(self) -> bool:
        """Return whether the login of the machine is used."""
        return self.azure_storage_account_key is None and self.azure_storage_sas_token is None


class AzureServicePrincipalCredentials(
    AzureDefaultCredentials, AzureServicePrincipalCredentialsWithoutDefaults
):
    """A storage account with a service principal, or else with the login of the machine."""

    key_field: ClassVar[str] = "azure_client_secret"


AnyAzureCredentials = AzureServicePrincipalCredentials | AzureCredentials
"""Any credentials of Azure, for annotations."""
