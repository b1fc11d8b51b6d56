"""Credentials of SFTP servers."""

from __future__ import annotations

from typing import Annotated, Any, Final

from penstock.config.secret import TSecretStrValue  # noqa: TC001 - the spec needs it at run time
from penstock.config.specs import CredentialsConfiguration, NotResolved, configspec

_OTHER_NAMES: Final = {"sftp_key_passphrase": "passphrase"}


@configspec
class SFTPCredentials(CredentialsConfiguration):
    """The login of an SFTP server: a password, a key file, or the agent of the machine.

    The fields are the arguments of `paramiko.SSHClient.connect`, with the prefix `sftp_`.

    >>> SFTPCredentials(sftp_username="ada", sftp_password="hush").to_fsspec_credentials()["username"]
    'ada'
    """

    sftp_port: int | None = 22
    sftp_username: str | None = None
    sftp_password: TSecretStrValue | None = None
    sftp_pkey: Annotated[Any | None, NotResolved()] = None
    sftp_key_filename: str | None = None
    sftp_key_passphrase: TSecretStrValue | None = None
    sftp_timeout: float | None = None
    sftp_banner_timeout: float | None = None
    sftp_auth_timeout: float | None = None
    sftp_channel_timeout: float | None = None
    sftp_allow_agent: bool | None = True
    sftp_look_for_keys: bool | None = True
    sftp_compress: bool | None = False
    sftp_sock: Annotated[Any | None, NotResolved()] = None
    sftp_gss_auth: bool | None = False
    sftp_gss_kex: bool | None = False
    sftp_gss_deleg_creds: bool | None = True
    sftp_gss_host: str | None = None
    sftp_gss_trust_dns: bool | None = True
    sftp_disabled_algorithms: Annotated[dict[str, list[str]] | None, NotResolved()] = None
    sftp_transport_factory: Annotated[Any | None, NotResolved()] = None
    sftp_auth_strategy: Annotated[Any | None, NotResolved()] = None

    def to_fsspec_credentials(self) -> dict[str, Any]:
        """Return the arguments of `fsspec`'s SFTP file system."""
        return {_OTHER_NAMES.get(name, name.removeprefix("sftp_")): value for name, value in self}

    def to_native_representation(self) -> dict[str, Any]:
        """Return all fields with values. They contain secrets."""
        return {name: value for name, value in self if value is not None}
