"""Authentication that settings can configure: bearer token, API key, basic and two flows of OAuth2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import PrivateAttr
from requests import Session  # noqa: TC002 - the spec needs it at run time
from requests.auth import AuthBase

from penstock.config import (
    CredentialsConfiguration,
    NotResolved,
    SecretText,
    TSecretStrValue,
    remember_secret,
)
from penstock.sources.rest.jwt_assertion import AssertionRequest, PrivateKey
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

TApiKeyLocation = Literal["header", "cookie", "query", "param"]
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
        """Create from a token; a subclass may have more fields."""
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
    location: TApiKeyLocation = "header"

    def __init__(
        self, name: str = "Authorization", api_key: str | None = None, location: str = "header"
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


class OAuth2AuthBase(AuthConfigBase):
    """The base of OAuth2 flows; itself it adds the header for an access token.

    >>> OAuth2AuthBase("hunter2")
    OAuth2AuthBase(access_token=***)
    """

    access_token: TSecretStrValue = None  # type: ignore[assignment]  # set by settings

    def __init__(self, access_token: str | None = None, **fields: Any) -> None:
        """Create from a token; a subclass may have more fields."""
        super().__init__(**_without_none(access_token=access_token, **fields))

    def parse_native_representation(self, native_value: Any) -> None:
        """Take a text as the token."""
        self.access_token = _require_text(native_value, "a token")

    def signer(self) -> AuthBase:
        """Return the signer for the header."""
        return HeaderSigner("Authorization", f"Bearer {self.access_token}")

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign a request."""
        return self.signer()(request)


class OAuth2ClientCredentials(OAuth2AuthBase):
    """Adds a bearer token of the OAuth2 client credentials flow, and renews it when it has expired.

    For servers with another protocol, override `build_access_token_request`, `parse_access_token` or
    `parse_expiration_in_seconds`.

    >>> auth = OAuth2ClientCredentials(access_token_url="https://id.test", client_id="us", client_secret="x")
    >>> [auth.client_secret]
    [***]
    """

    access_token: Annotated[TSecretStrValue | None, NotResolved()] = None  # type: ignore[assignment]
    access_token_url: str = None  # type: ignore[assignment]  # set by settings
    client_id: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    client_secret: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    access_token_request_data: dict[str, Any] | None = None
    default_token_expiration: int = 3600
    session: Annotated[Session | None, NotResolved()] = None
    _signer: TokenSigner | None = PrivateAttr(default=None)

    def __init__(
        self,
        access_token: str | None = None,
        access_token_url: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        access_token_request_data: Mapping[str, Any] | None = None,
        default_token_expiration: int = 3600,
        session: Session | None = None,
        **fields: Any,
    ) -> None:
        """Create from the fields; a passed token may have expired, so a new one is requested anyway."""
        super().__init__(
            **_without_none(
                access_token=access_token,
                access_token_url=access_token_url,
                client_id=client_id,
                client_secret=client_secret,
                access_token_request_data=access_token_request_data,
                default_token_expiration=default_token_expiration,
                session=session,
                **fields,
            )
        )

    def is_token_expired(self) -> bool:
        """Return whether a new token is needed."""
        return self.signing().token is None or self.signing().is_expired()

    def obtain_token(self) -> None:
        """Request a token."""
        self.signing().fetch_token()

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


class OAuthJWTAuth(BearerTokenAuth):
    """Adds a bearer token that is requested with a signed JSON web token (RFC 7523), signed by RS256.

    `private_key` is a PEM text, or a DER key in base64. Signing needs `penstock[jwt]`.

    >>> auth = OAuthJWTAuth(client_id="us", private_key="hush", auth_endpoint="https://id.test", scopes="a b")
    >>> auth.create_jwt_payload()["scope"], auth.private_key
    ('a b', ***)
    """

    token: Annotated[TSecretStrValue | None, NotResolved()] = None  # type: ignore[assignment]
    client_id: str = None  # type: ignore[assignment]  # set by settings
    private_key: TSecretStrValue = None  # type: ignore[assignment]  # set by settings
    auth_endpoint: str = None  # type: ignore[assignment]  # set by settings
    scopes: str | list[str] | None = None
    headers: dict[str, str] | None = None
    private_key_passphrase: TSecretStrValue | None = None
    default_token_expiration: int = 3600
    session: Annotated[Session | None, NotResolved()] = None
    _signer: TokenSigner | None = PrivateAttr(default=None)

    def __init__(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        self,
        token: str | None = None,
        client_id: str | None = None,
        private_key: str | None = None,
        auth_endpoint: str | None = None,
        scopes: str | list[str] | None = None,
        headers: Mapping[str, str] | None = None,
        private_key_passphrase: str | None = None,
        default_token_expiration: int = 3600,
        session: Session | None = None,
        **fields: Any,
    ) -> None:
        """Create from the fields; a passed token may have expired, so a new one is requested anyway."""
        super().__init__(
            **_without_none(
                token=token,
                client_id=client_id,
                private_key=private_key,
                auth_endpoint=auth_endpoint,
                scopes=scopes,
                headers=headers,
                private_key_passphrase=private_key_passphrase,
                default_token_expiration=default_token_expiration,
                session=session,
                **fields,
            )
        )

    def create_jwt_payload(self) -> dict[str, str | int]:
        """Return the claims of the token that is signed."""
        return self._token_request().claims()

    def signer(self) -> AuthBase:
        """Return the signer that requests tokens."""
        request = self._token_request()
        signer = TokenSigner(
            url=self.auth_endpoint, build_request=request.build, parse_response=request.parse_response
        )
        signer.session = self.session
        return signer

    def use_session(self, session: Any) -> None:
        """Request tokens through this session, unless one is set."""
        self.signing().session = self.session or session

    def signing(self) -> TokenSigner:
        """Return the signer that holds the token of this process."""
        if self._signer is None:
            request = self._token_request()
            self._signer = TokenSigner(
                url=self.auth_endpoint,
                build_request=request.build,
                parse_response=partial(self._parse_response, request),
            )
            self._signer.session = self.session
        return self._signer

    def is_token_expired(self) -> bool:
        """Return whether a new token is needed."""
        return self.signing().token is None or self.signing().is_expired()

    def obtain_token(self) -> None:
        """Request a token."""
        self.signing().fetch_token()

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Sign a request; fetch a token first if none is valid."""
        return self.signing()(request)

    def _parse_response(self, request: AssertionRequest, response_json: Any) -> tuple[str, int]:
        token, lifetime = request.parse_response(response_json)
        self.token = SecretText(token)
        return token, lifetime

    def _token_request(self) -> AssertionRequest:
        scopes = self.scopes if isinstance(self.scopes, str) else " ".join(self.scopes or ())
        return AssertionRequest(
            issuer=self.client_id,
            audience=self.auth_endpoint,
            scope=scopes,
            headers=self.headers or {},
            private_key=PrivateKey(self.private_key, self.private_key_passphrase),
            default_lifetime=self.default_token_expiration,
        )


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _require_text(native_value: Any, expected: str) -> Any:
    if not isinstance(native_value, str):
        raise ValueError(f"{expected} must be a text")  # noqa: TRY004 - specs report a ValueError as invalid
    return native_value
