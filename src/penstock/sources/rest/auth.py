"""Authentication that settings can configure: bearer token, API key, basic and OAuth2 client credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import PrivateAttr
from requests import Session  # noqa: TC002 - the spec needs it at run time
from requests.auth import AuthBase

from penstock.config import CredentialsConfiguration, NotResolved, TSecretStrValue, remember_secret
from penstock.sources.rest.signers import (
    CookieSigner,
    CredentialsRequest,
    HeaderSigner,
    QuerySigner,
    TokenSigner,
    basic_signer,
    unpickle_signer,
)

if TYPE_CHECKING:
    from requests import PreparedRequest

ApiKeyLocation = Literal["header", "cookie", "query", "param"]
_PAIR_LENGTH = 2


class AuthConfigBase(CredentialsConfiguration, AuthBase):
    """The base of authentication that can be configured by name; a subclass signs requests in `__call__`."""

    def signer(self) -> AuthBase | None:
        """Return a plain object that signs the same way; None serializes the instance itself."""
        return None

    def __reduce__(self) -> Any:
        """Pickle as the plain signer, because an executor may not have penstock.

        Only a class that defines `signer` itself: a subclass may sign differently from its base.
        """
        signer = self.signer() if "signer" in vars(type(self)) else None
        return super().__reduce__() if signer is None else (unpickle_signer, (signer,))


class BearerTokenAuth(AuthConfigBase):
    """Adds the header `Authorization: Bearer <token>`.

    >>> BearerTokenAuth("hunter2")
    BearerTokenAuth(token=***)
    """

    token: TSecretStrValue = None  # type: ignore[assignment]  # set by settings

    def __init__(self, token: str | None = None, **fields: Any) -> None:
        """Create from a token."""
        super().__init__(**_without_none(token=token, **fields))

    def parse_native_representation(self, native_value: Any) -> None:
        """Take a text as the token."""
        self.token = _require_text(native_value, "a token")

    def signer(self) -> AuthBase:
        """Return the signer for the header."""
        return HeaderSigner("Authorization", f"Bearer {self.token}")

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign a request."""
        return self.signer()(request)


class APIKeyAuth(AuthConfigBase):
    """Adds an API key to a header, the query or a cookie.

    >>> APIKeyAuth(name="X-Key", api_key="hunter2")
    APIKeyAuth(name='X-Key', api_key=***, location='header')
    """

    name: str = "Authorization"
    api_key: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    location: ApiKeyLocation = "header"

    def __init__(
        self, name: str | None = None, api_key: str | None = None, location: str | None = None
    ) -> None:
        super().__init__(**_without_none(name=name, api_key=api_key, location=location))

    def parse_native_representation(self, native_value: Any) -> None:
        """Take a text as the key."""
        self.api_key = _require_text(native_value, "a key")

    @property
    def hidden_params(self) -> tuple[str, ...]:
        """The query parameters that messages mask."""
        return (self.name,) if self.location in {"query", "param"} else ()

    def signer(self) -> AuthBase:
        """Return the signer for the location."""
        match self.location:
            case "header":
                return HeaderSigner(self.name, self.api_key)
            case "cookie":
                return CookieSigner(self.name, self.api_key)
            case _:
                return QuerySigner(self.name, self.api_key)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign a request."""
        signed: PreparedRequest = self.signer()(request)
        return signed


class HttpBasicAuth(AuthConfigBase):
    """Adds HTTP basic authentication.

    >>> HttpBasicAuth("ada", "hunter2")
    HttpBasicAuth(username='ada', password=***)
    """

    username: str = None  # type: ignore[assignment]  # set by settings
    password: TSecretStrValue = None  # type: ignore[assignment]  # set by settings

    def __init__(self, username: str | None = None, password: str | None = None) -> None:
        super().__init__(**_without_none(username=username, password=password))

    def parse_native_representation(self, native_value: Any) -> None:
        """Take a pair as user name and password."""
        is_pair = isinstance(native_value, Sequence) and len(native_value) == _PAIR_LENGTH
        if not is_pair or isinstance(native_value, str):
            raise ValueError("basic authentication needs a user name and a password")
        self.username, self.password = native_value

    def signer(self) -> AuthBase:
        """Return the signer for the header."""
        signer = basic_signer(self.username, self.password)
        # The encoded header reveals the password.
        remember_secret(signer.value.removeprefix("Basic "))
        return signer

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign a request."""
        return self.signer()(request)


class OAuth2ClientCredentials(AuthConfigBase):
    """Adds a bearer token of the OAuth2 client credentials flow, and renews it when it has expired.

    For servers with another protocol, override `build_access_token_request`, `parse_access_token` or
    `parse_expiration_in_seconds`.

    >>> auth = OAuth2ClientCredentials(access_token_url="https://id.test", client_id="us", client_secret="x")
    >>> [auth.client_secret]
    [***]
    """

    access_token: Annotated[TSecretStrValue | None, NotResolved()] = None
    access_token_url: str = None  # type: ignore[assignment]  # set by settings
    client_id: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    client_secret: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    access_token_request_data: dict[str, Any] | None = None
    default_token_expiration: int = 3600
    session: Annotated[Session | None, NotResolved()] = None
    _signer: TokenSigner | None = PrivateAttr(default=None)

    def __init__(self, access_token: str | None = None, **fields: Any) -> None:
        """Create from the fields; a passed token may have expired, so a new one is requested anyway."""
        super().__init__(**_without_none(access_token=access_token, **fields))

    def parse_native_representation(self, native_value: Any) -> None:
        """Take a text as a token."""
        self.access_token = _require_text(native_value, "a token")

    def build_access_token_request(self) -> Mapping[str, Any]:
        """Return the arguments of the POST request for a token."""
        return self._token_request().build()

    def parse_access_token(self, response_json: Any) -> str:
        """Return the token in a response."""
        return str(response_json["access_token"])

    def parse_expiration_in_seconds(self, response_json: Any) -> int:
        """Return the lifetime of the token in a response."""
        return int(response_json.get("expires_in") or self.default_token_expiration)

    def signer(self) -> AuthBase:
        """Return the signer that requests tokens."""
        return self._plain_signer()

    def use_session(self, session: Any) -> None:
        """Request tokens through this session, unless one is set."""
        self.signing().session = self.session or session

    def signing(self) -> TokenSigner:
        """Return the signer that holds the token of this process."""
        if self._signer is None:
            self._signer = TokenSigner(
                url=self.access_token_url,
                build_request=self.build_access_token_request,
                parse_response=self._parse_response,
            )
            self._signer.session = self.session
        return self._signer

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign a request; fetch a token first if none is valid."""
        return self.signing()(request)

    def _parse_response(self, response_json: Any) -> tuple[str, int]:
        token = self.parse_access_token(response_json)
        remember_secret(token)
        self.access_token = token
        return token, self.parse_expiration_in_seconds(response_json)

    def _plain_signer(self) -> TokenSigner:
        request = self._token_request()
        signer = TokenSigner(
            url=self.access_token_url, build_request=request.build, parse_response=request.parse_response
        )
        signer.session = self.session
        return signer

    def _token_request(self) -> CredentialsRequest:
        return CredentialsRequest(
            self.client_id,
            self.client_secret,
            self.access_token_request_data or {},
            self.default_token_expiration,
        )


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _require_text(native_value: Any, expected: str) -> Any:
    if not isinstance(native_value, str):
        raise ValueError(f"{expected} must be a text")  # noqa: TRY004 - specs report a ValueError as invalid
    return native_value
