"""Plain objects that sign requests, and the removal of credentials for other hosts.

Also runs where penstock is not installed: signers are serialized to executors with the secrets they hold.
"""

from __future__ import annotations

import base64
import re
import time
from typing import TYPE_CHECKING, Any, Final

import requests
from requests.auth import AuthBase
from requests.cookies import RequestsCookieJar

from penstock.errors import UsageError
from penstock.sources.rest.status import raise_for_status
from penstock.sources.rest.urls import is_cross_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from requests import PreparedRequest, Request

_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f]")
SAFE_HEADERS: Final = frozenset(
    (
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("content-encoding", "content-language", "content-length", "content-type", "if-modified-since"),
        *("if-none-match", "pragma", "range", "transfer-encoding", "user-agent"),
    )
)
"""Headers that never carry credentials and may be sent to any host."""


class HeaderSigner(AuthBase):
    """Adds an authentication header."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, _check_header_value(name, value)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers[self.name] = self.value
        return record_signer(request, self)


class QuerySigner(AuthBase):
    """Adds a query parameter; messages mask the values of `hidden_params`."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self._value, self.hidden_params = name, value, (name,)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the parameter."""
        request.prepare_url(request.url, {self.name: self._value})
        return record_signer(request, self)


class CookieSigner(AuthBase):
    """Adds a cookie to the cookies of the session."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self._value = name, _check_header_value("Cookie", value)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the cookie."""
        cookies = request.headers.get("Cookie")
        cookie = f"{self.name}={self._value}"
        request.headers["Cookie"] = f"{cookies}; {cookie}" if cookies else cookie
        return record_signer(request, self)


class TokenSigner(AuthBase):
    """Adds a bearer token; requests one at first use and after it has expired.

    `build_request` returns the arguments of the token request, `parse_response` the token and its lifetime
    in seconds.
    """

    session: Any = None
    """The session for token requests; by default that of the client, so that they are paced and retried."""

    def __init__(
        self,
        *,
        url: str,
        build_request: Callable[[], Mapping[str, Any]],
        parse_response: Callable[[Any], tuple[str, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url, self._build_request, self._parse_response = url, build_request, parse_response
        self.token: str | None = None
        self._clock, self._expires_at, self._lifetime = clock, clock(), 0

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token."""
        if self.token is None or self.is_expired():
            self.fetch_token()
        request.headers["Authorization"] = _check_header_value("Authorization", f"Bearer {self.token}")
        return record_signer(request, self)

    def use_session(self, session: Any) -> None:
        """Request tokens through this session, unless one is set."""
        self.session = self.session or session

    def is_expired(self) -> bool:
        """Return whether the token has expired."""
        return self._clock() >= self._expires_at

    def needs_refresh(self) -> bool:
        """Return whether the token was valid when it was fetched and has expired since.

        A token that was expired from the start is used once: another one would not be better.
        """
        return self._lifetime > 0 and self.is_expired()

    def fetch_token(self) -> None:
        """Request a token."""
        session = self.session or requests.Session()
        response = session.post(self.url, **self._build_request())
        raise_for_status(response)
        self.token, self._lifetime = self._parse_response(response.json())
        self._expires_at = self._clock() + self._lifetime


class CredentialStripper(AuthBase):
    """Removes what the user set for the host of the API; used for requests to any other host.

    Headers in `safe`, and those in `SAFE_HEADERS`, are still sent.
    """

    def __init__(self, replaced_auth: Any = None, safe: Collection[str] = ()) -> None:
        # A URL that the server returned may still contain the key.
        self.hidden_params: tuple[str, ...] = tuple(getattr(replaced_auth, "hidden_params", ()))
        self.safe = tuple(safe)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Remove credentials, headers and cookies."""
        return strip_for_other_host(request, self.safe)


class CredentialsRequest:
    """The token request of the client credentials flow, and the parser of its response."""

    def __init__(
        self, client_id: str, client_secret: str, extra_data: Mapping[str, Any], default_lifetime: int
    ) -> None:
        self._client_id, self._client_secret, self._extra_data = client_id, client_secret, dict(extra_data)
        self._default_lifetime = default_lifetime

    def build(self) -> dict[str, Any]:
        """Return the arguments of the POST request."""
        return {
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "data": {
                "client_id": self._client_id,
                "client_secret": self._client_secret,
                "grant_type": "client_credentials",
                **self._extra_data,
            },
        }

    def parse_response(self, response_json: Any) -> tuple[str, int]:
        """Return the token and its lifetime in seconds."""
        return str(response_json["access_token"]), int(
            response_json.get("expires_in") or self._default_lifetime
        )


def basic_signer(username: str, password: str) -> HeaderSigner:
    """Return the signer for a user name and a password."""
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return HeaderSigner("Authorization", f"Basic {pair}")


def strip_credentials(request: Request, safe: Collection[str] = ()) -> bool:
    """Remove what was set for the host of a request; return whether there was anything to remove.

    >>> from requests import Request
    >>> request = Request("GET", "https://example.com", headers={"X-Api-Key": "x", "Accept": "text/csv"})
    >>> strip_credentials(request)
    True
    >>> request.headers, type(request.auth).__name__
    ({'Accept': 'text/csv'}, 'CredentialStripper')
    """
    signed, headers = request.auth, request.headers or {}
    request.auth, request.headers = CredentialStripper(signed, safe), _safe_headers(headers, safe)
    return len(request.headers) < len(headers) or not isinstance(signed, (CredentialStripper, type(None)))


def strip_for_other_host(request: PreparedRequest, safe: Collection[str] = ()) -> PreparedRequest:
    """Remove all headers that are not safe, and all cookies without a domain.

    Redirects of the request are stripped too, even when they lead back to the first host.
    """
    marked: Any = request
    marked.has_left, marked.safe_headers = True, tuple(safe)
    jar = RequestsCookieJar()
    for cookie in getattr(request, "_cookies", None) or ():
        if cookie.domain:
            jar.set_cookie(cookie)
    safe_headers = _safe_headers(request.headers, safe)
    request.headers.clear()
    request.headers.update(safe_headers)
    marked.prepare_cookies(jar)
    return request


def prepare_redirect(previous: Any, redirected: PreparedRequest) -> bool:
    """Strip a redirected request that goes to another host; return whether it did."""
    safe = getattr(previous, "safe_headers", ())
    has_left = getattr(previous, "has_left", False) or is_cross_origin(str(previous.url), str(redirected.url))
    if has_left:
        strip_for_other_host(redirected, safe)
    else:
        marked: Any = redirected
        marked.safe_headers = safe
        record_signer(redirected, signer_of(previous))
    return has_left


def _safe_headers(headers: Mapping[str, Any], safe: Collection[str]) -> dict[str, Any]:
    allowed = SAFE_HEADERS | {name.lower() for name in safe}
    return {name: value for name, value in headers.items() if name.lower() in allowed}


def record_signer(request: PreparedRequest, signer: Any) -> PreparedRequest:
    """Record the signer on a request, and return the request."""
    marked: Any = request
    marked.signed_by = signer
    return request


def signer_of(request: Any) -> Any:
    """Return the signer of a request; None if it has no recorded signer.

    >>> from requests import Request
    >>> signer_of(Request("GET", "https://example.com", auth=HeaderSigner("X-Key", "x")).prepare()).name
    'X-Key'
    """
    return getattr(request, "signed_by", None)


def unpickle_signer(signer: AuthBase) -> AuthBase:
    """Return the signer that replaces a configured authentication when it is unpickled."""
    return signer


def _check_header_value(header: str, value: Any) -> Any:
    """Return a valid header value. For an invalid one, the error of the library would show the secret."""
    if isinstance(value, str) and _CONTROL_CHARACTERS.search(value):
        raise UsageError(
            f"the value of the header {header} has control characters, such as a line break",
            hint="strip the secret where it is read; a file often ends with a line break",
        )
    return value
