"""Credentials of OAuth2 and of Google Cloud."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar, Final
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from penstock.config.native_login import CredentialsWithDefault, login_library
from penstock.config.secret import SecretText, TSecretStrValue
from penstock.config.specs import CredentialsConfiguration, configspec, set_fields
from penstock.errors import UsageError

TOKEN_URI: Final = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
AUTH_URI: Final = "https://accounts.google.com/o/oauth2/auth"
_TOKEN_TIMEOUT: Final = 60.0


@configspec
class OAuth2Credentials(CredentialsConfiguration):
    """A client of OAuth2 and its tokens; override `auth` to obtain a token.

    >>> login = OAuth2Credentials(client_id="us", client_secret="hush", scopes=["read"])
    >>> login.add_scopes("write")
    >>> login.scopes, login.client_secret
    (['read', 'write'], ***)
    """

    client_id: str = None  # type: ignore[assignment]  # set by settings
    client_secret: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    refresh_token: TSecretStrValue | None = None
    scopes: list[str] | None = None
    token: TSecretStrValue | None = None

    def auth(self, scopes: str | list[str] | None = None, redirect_url: str | None = None) -> None:
        """Obtain a token for these scopes and set it; for subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not obtain tokens: override auth")

    def add_scopes(self, scopes: str | list[str]) -> None:
        """Add scopes that are not in `scopes` yet."""
        more = [scopes] if isinstance(scopes, str) else scopes
        self.scopes = list(dict.fromkeys((*(self.scopes or ()), *more)))


@configspec
class GcpCredentials(CredentialsConfiguration):
    """The base of credentials for Google Cloud. A credentials file, as text or as an object, sets all."""

    token_uri: str = TOKEN_URI
    auth_uri: str = AUTH_URI
    project_id: str = None  # type: ignore[assignment]  # set by settings

    file_type: ClassVar[str | None] = None
    """The `type` in credentials files of these credentials."""
    file_key: ClassVar[str | None] = None
    """The key of the fields in credentials files that have one."""

    @classmethod
    def fields_of_mapping(cls, mapping: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields in a credentials file; raise ValueError for a file of other credentials."""
        file_type = mapping.get("type")
        if file_type is not None and file_type != cls.file_type:
            raise ValueError(f"the credentials have the type {file_type}, not {cls.file_type}")
        fields = mapping.get(cls.file_key, mapping) if cls.file_key else mapping
        return {name: value for name, value in fields.items() if name in cls.model_fields}

    def parse_native_representation(self, native_value: Any) -> None:
        """Set the fields of a credentials file: JSON text, an object, or credentials of `google-auth`."""
        if type(native_value).__module__.startswith("google."):
            values = {name: getattr(native_value, name, None) for name in type(self).model_fields}
            set_fields(self, {name: value for name, value in values.items() if value is not None})
        else:
            set_fields(self, self.fields_of_mapping(_file_content(native_value)))

    def to_native_representation(self) -> SecretText:
        """Return the fields as JSON text. It contains secrets."""
        return SecretText(json.dumps(dict(self)))

    def to_gcs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `gcsfs.GCSFileSystem`."""
        return {"project": self.project_id, "token": dict(self)}


@configspec
class GcpServiceAccountCredentialsWithoutDefaults(GcpCredentials):
    r"""The key of a service account of Google Cloud.

    >>> account = GcpServiceAccountCredentialsWithoutDefaults('{"project_id": "shop", "client_email": "a@b"}')
    >>> print(account)
    a@b@shop
    """

    private_key: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    private_key_id: str | None = None
    client_email: str = None  # type: ignore[assignment]  # set by settings
    type: str = "service_account"

    file_type: ClassVar[str | None] = "service_account"

    def on_resolved(self) -> None:
        r"""Restore the line breaks of the key, which environment variables often have as `\n`."""
        if self.private_key:
            self.private_key = SecretText(self.private_key.replace("\\n", "\n").rstrip("\n") + "\n")

    def to_native_credentials(self) -> Any:
        """Return `google.oauth2.service_account.Credentials`; needs `google-auth`."""
        service_account = login_library("google.oauth2.service_account", "google-auth", type(self))
        return service_account.Credentials.from_service_account_info(dict(self))

    def __str__(self) -> str:
        return f"{self.client_email}@{self.project_id}"


class GcpDefaultCredentials(CredentialsWithDefault, GcpCredentials):
    """Credentials that fall back to the application default credentials of the machine."""

    def on_partial(self) -> bool:
        """Use the project of the default credentials; return whether there are default credentials."""
        try:
            _, project = import_module("google.auth").default()
        except Exception:  # the library is missing or has its own error for machines without credentials
            return False
        self.project_id = self.project_id or project
        return True

    def default_credentials(self) -> Any:
        """Return the application default credentials of the machine; needs `google-auth`."""
        library = login_library("google.auth", "google-auth", type(self))
        credentials, _ = library.default()
        return credentials

    def to_gcs_credentials(self) -> dict[str, Any]:
        """Return the arguments of `gcsfs.GCSFileSystem`."""
        if self.has_default_credentials():
            return {"project": self.project_id, "token": "google_default"}
        return super().to_gcs_credentials()

    def to_native_credentials(self) -> Any:
        """Return credentials of `google-auth`: the default ones if no fields are set."""
        if self.has_default_credentials():
            return self.default_credentials()
        return super().to_native_credentials()


class GcpServiceAccountCredentials(GcpDefaultCredentials, GcpServiceAccountCredentialsWithoutDefaults):
    """The key of a service account, or else the application default credentials of the machine."""

    key_field: ClassVar[str] = "private_key"


@configspec
class GcpOAuthCredentialsWithoutDefaults(GcpCredentials, OAuth2Credentials):
    """A client of Google's OAuth2 with a refresh token.

    >>> login = GcpOAuthCredentialsWithoutDefaults({"installed": {"client_id": "us", "project_id": "shop"}})
    >>> print(login)
    us@shop
    """

    refresh_token: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    client_type: str = "installed"

    file_type: ClassVar[str | None] = "authorized_user"
    file_key: ClassVar[str | None] = "installed"

    def auth(self, scopes: str | list[str] | None = None, redirect_url: str | None = None) -> None:
        """Set `token`, obtained with the refresh token, and add scopes."""
        if scopes:
            self.add_scopes(scopes)
        if not self.refresh_token:
            raise UsageError(
                "the credentials have no refresh token, and penstock opens no browser to obtain one",
                hint="log in once with `gcloud auth application-default login` or a program of your own, "
                "and set refresh_token",
            )
        self.token = SecretText(self._request_token())

    def _request_token(self) -> str:
        fields = {
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "refresh_token": self.refresh_token,
            "grant_type": "refresh_token",
        }
        request = Request(self.token_uri, data=urlencode(fields).encode())  # noqa: S310 - a setting of the user
        with urlopen(request, timeout=_TOKEN_TIMEOUT) as response:  # noqa: S310 - as above
            return str(json.load(response)["access_token"])

    def to_native_representation(self) -> SecretText:
        """Return a client file as JSON text. It contains secrets."""
        return SecretText(json.dumps({self.client_type: dict(self)}))

    def to_native_credentials(self) -> Any:
        """Return `google.oauth2.credentials.Credentials`; needs `google-auth`."""
        credentials = login_library("google.oauth2.credentials", "google-auth", type(self))
        return credentials.Credentials.from_authorized_user_info(dict(self), scopes=self.scopes)

    def __str__(self) -> str:
        return f"{self.client_id}@{self.project_id}"


class GcpOAuthCredentials(GcpDefaultCredentials, GcpOAuthCredentialsWithoutDefaults):
    """A client with a refresh token, or else the application default credentials of the machine."""

    key_field: ClassVar[str] = "refresh_token"


def _file_content(native_value: Any) -> Mapping[str, Any]:
    content = native_value
    if isinstance(native_value, str):
        with suppress(ValueError):
            content = json.loads(native_value)
    if isinstance(content, Mapping):
        return content
    raise ValueError("expected the JSON text or the object of a credentials file of Google")
