"""Credentials that several sources and destinations use."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final, Self
from urllib.parse import parse_qs, quote, unquote, urlencode

from pydantic import Field, field_serializer, field_validator, model_validator

from penstock.config.azure_credentials import (
    AzureCredentials,
    AzureCredentialsWithoutDefaults,
    AzureServicePrincipalCredentials,
    AzureServicePrincipalCredentialsWithoutDefaults,
)
from penstock.config.gcp_credentials import GcpOAuthCredentials, GcpServiceAccountCredentials
from penstock.config.native_login import login_library
from penstock.config.secret import SecretText, TSecretStrValue, as_secret
from penstock.config.sftp_credentials import SFTPCredentials
from penstock.config.specs import CredentialsConfiguration, configspec, set_fields
from penstock.redaction import MASK, is_secret_name

# The password ends at the last `@` before the query, and may contain slashes: both are often unquoted.
_URL: Final = re.compile(
    r"(?P<drivername>[\w+.-]+)://"
    r"(?:(?P<username>[^:/@]*)(?::(?P<password>[^?]*))?@)?"
    r"(?:\[(?P<ipv6>[^\]/?]+)\]|(?P<host>[^/:?@]*))(?::(?P<port>\d+))?"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?"
)


@configspec
class ConnectionStringCredentials(CredentialsConfiguration):
    """The parts of `drivername://username:password@host:port/database?query`.

    >>> shop = ConnectionStringCredentials("postgresql://ada:p%40ss@db:5432/shop?sslmode=require")
    >>> shop.username, shop.password, shop.password == "p@ss", shop.port, shop.query
    ('ada', ***, True, 5432, {'sslmode': 'require'})
    >>> print(shop)
    postgresql://ada:***@db:5432/shop
    """

    drivername: str = None  # type: ignore[assignment]
    database: str | None = None
    username: str | None = None
    password: TSecretStrValue | None = None
    host: str | None = None
    port: int | None = None
    query: dict[str, Any] = Field(default_factory=dict)

    def __init__(self, connection_string: Any = None, /, **fields: Any) -> None:
        """Create credentials from a URL, from fields, or from both; fields win."""
        super().__init__(connection_string, **fields)

    @field_validator("query")
    @classmethod
    def _hide_secrets(cls, query: dict[str, Any]) -> dict[str, Any]:
        return {key: as_secret(value) if is_secret_name(key) else value for key, value in query.items()}

    @field_serializer("query", when_used="json")
    def _mask_secrets(self, query: dict[str, Any]) -> dict[str, Any]:
        return {key: MASK if is_secret_name(key) else value for key, value in query.items()}

    def parse_native_representation(self, native_value: Any) -> None:
        """Parse a URL, given as text or as an SQLAlchemy object."""
        render = getattr(native_value, "render_as_string", None)
        text = render(hide_password=False) if render else native_value
        parts = _URL.fullmatch(text) if isinstance(text, str) else None
        if parts is None:
            raise ValueError("expected the form drivername://username:password@host:port/database?query")
        if _is_password_cut(parts):
            raise ValueError("unquoted `?` before the `@`: write %3F in a password")
        query = parse_qs(parts["query"] or "")
        self.drivername = parts["drivername"]
        self.database = parts["database"] or None
        self.username = None if parts["username"] is None else unquote(parts["username"])
        self.password = None if parts["password"] is None else SecretText(unquote(parts["password"]))
        self.host = parts["ipv6"] or parts["host"] or None
        self.port = int(parts["port"]) if parts["port"] else None
        self.query = {key: values[0] if len(values) == 1 else values for key, values in query.items()}

    def to_url(self) -> SecretText:
        """Return the complete URL, including the password."""
        password = None if self.password is None else quote(self.password, safe="")
        query = f"?{urlencode(self.query, doseq=True)}" if self.query else ""
        return SecretText(self._render_url(password) + query)

    def to_native_representation(self) -> SecretText:
        """Return `to_url()`."""
        return self.to_url()

    def __str__(self) -> str:
        """Return the URL without password and query, which may contain secrets."""
        return self._render_url(None if self.password is None else "***")

    def _render_url(self, password: str | None) -> str:
        login = quote(self.username or "", safe="") + ("" if password is None else f":{password}")
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        port = f":{self.port}" if self.port else ""
        database = f"/{self.database}" if self.database else ""
        return f"{self.drivername}://{login}{'@' if login else ''}{host}{port}{database}"


def _is_password_cut(parts: re.Match[str]) -> bool:
    """Return whether the query starts with a question mark of the password."""
    query = parts["query"] or ""
    no_login = not parts["username"] and not parts["database"]
    nowhere = not parts["host"] and not parts["ipv6"]
    return "@" in query.partition("=")[0] or ("@" in query and (no_login or nowhere))


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("db.example.org")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@configspec
class AwsCredentialsWithoutDefaults(CredentialsConfiguration):
    """Keys for S3 and compatible stores, which must be set."""

    aws_access_key_id: str = None  # type: ignore[assignment]  # set by settings
    aws_secret_access_key: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    aws_session_token: TSecretStrValue | None = None
    profile_name: str | None = None
    region_name: str | None = None
    endpoint_url: str | None = None
    s3_url_style: str | None = None
    conditional_writes: bool | None = None
    """Whether a server other than Amazon's implements `If-None-Match` atomically."""

    def parse_native_representation(self, native_value: Any) -> None:
        """Take the keys and the region of a session of `botocore` or `boto3`."""
        find_keys = getattr(native_value, "get_credentials", None)
        if find_keys is None:
            raise ValueError("expected a session of botocore or boto3")
        keys = find_keys()
        if keys is not None:
            frozen = keys.get_frozen_credentials()
            set_fields(
                self,
                {
                    "aws_access_key_id": frozen.access_key,
                    "aws_secret_access_key": frozen.secret_key,
                    "aws_session_token": frozen.token,
                },
            )
        session = getattr(native_value, "_session", native_value)
        self.region_name = session.get_config_variable("region")
        self.profile_name = session.profile

    def to_session_credentials(self) -> dict[str, str | None]:
        """Return the keys as arguments of a boto3 session."""
        return {
            "aws_access_key_id": self.aws_access_key_id,
            "aws_secret_access_key": self.aws_secret_access_key,
            "aws_session_token": self.aws_session_token,
        }

    def to_s3fs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `s3fs.S3FileSystem`."""
        return {
            "key": self.aws_access_key_id,
            "secret": self.aws_secret_access_key,
            "token": self.aws_session_token,
            "profile": self.profile_name,
            "endpoint_url": self.endpoint_url,
            "client_kwargs": {"region_name": self.region_name} if self.region_name else {},
        }

    def with_machine_keys(self) -> Self:
        """Return a copy that has keys: without its own those of the profile, the environment or the role."""
        keys = None if self.aws_access_key_id else self.to_botocore_session().get_credentials()
        if keys is None:
            return self
        frozen = keys.get_frozen_credentials()
        secrets = {
            "aws_secret_access_key": as_secret(frozen.secret_key),
            "aws_session_token": None if frozen.token is None else as_secret(frozen.token),
        }
        return self.model_copy(update={"aws_access_key_id": frozen.access_key, **secrets})

    def to_botocore_session(self) -> Any:
        """Return a session of `botocore` with the keys, the profile and the region."""
        session = login_library("botocore.session", "botocore", type(self)).get_session()
        if self.profile_name:
            session.set_config_variable("profile", self.profile_name)
        if self.region_name:
            session.set_config_variable("region", self.region_name)
        if self.aws_access_key_id and self.aws_secret_access_key:
            session.set_credentials(
                str(self.aws_access_key_id), str(self.aws_secret_access_key), self.aws_session_token
            )
        return session

    _to_botocore_session = to_botocore_session

    def to_native_representation(self) -> dict[str, Any]:
        """Return all fields with values."""
        return {name: value for name, value in self if value is not None}

    def __repr_args__(self) -> Any:
        """Show only fields with values, because most have none."""
        return ((name, value) for name, value in super().__repr_args__() if value is not None)


@configspec
class AwsCredentials(AwsCredentialsWithoutDefaults):
    """Keys for S3 and compatible stores. Without keys, those of the machine are used.

    >>> AwsCredentials(aws_access_key_id="AKEXAMPLE", aws_secret_access_key="hush", region_name="eu-west-1")
    AwsCredentials(aws_access_key_id=***, aws_secret_access_key=***, region_name='eu-west-1')
    """

    aws_access_key_id: str | None = None  # type: ignore[assignment]  # keys of the machine
    aws_secret_access_key: TSecretStrValue | None = None  # type: ignore[assignment]  # as above

    @model_validator(mode="after")
    def _require_both_keys(self) -> Self:
        if (self.aws_access_key_id is None) != (self.aws_secret_access_key is None):
            raise ValueError("aws_access_key_id and aws_secret_access_key must be set together")
        return self


FileSystemCredentials = (
    AwsCredentials
    | GcpServiceAccountCredentials
    | AzureCredentialsWithoutDefaults
    | AzureServicePrincipalCredentialsWithoutDefaults
    | AzureCredentials
    | AzureServicePrincipalCredentials
    | GcpOAuthCredentials
    | SFTPCredentials
)
"""Any credentials for files, for annotations."""
