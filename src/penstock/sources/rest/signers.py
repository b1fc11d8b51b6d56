"""What is added to a request so that the server knows who asks.

Plain classes: they travel to places where penstock is not installed, with the secrets that they hold.
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
"""Headers that no key is sent in: they may go to any host."""


class HeaderSigner(AuthBase):
    """Says a header."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, _check_header_value(name, value)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers[self.name] = self.value
        return record_signer(request, self)


class QuerySigner(AuthBase):
    """Says a query parameter; `hidden_params` are those that no message may show."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self._value, self.hidden_params = name, value, (name,)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the parameter."""
        request.prepare_url(request.url, {self.name: self._value})
        return record_signer(request, self)


class CookieSigner(AuthBase):
    """Says a cookie, beside those that the session has."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self._value = name, _check_header_value("Cookie", value)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the cookie."""
        there = request.headers.get("Cookie")
        mine = f"{self.name}={self._value}"
        request.headers["Cookie"] = f"{there}; {mine}" if there else mine
        return record_signer(request, self)


class TokenSigner(AuthBase):
    """Says a token that is asked for when there is none, and again when it has grown old.

    `asked` are the arguments of the request for one, `learned` gives the token and its seconds of life.
    """

    session: Any = None
    """What asks for tokens; the client that uses it gives its own, so that these requests count as well."""

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
        """Ask for tokens through this session, unless there is another."""
        self.session = self.session or session

    def is_expired(self) -> bool:
        """Whether the time of the token is over."""
        return self._clock() >= self._expires_at

    def needs_refresh(self) -> bool:
        """Whether the token was good when it came, and is not any more.

        One that was old from the beginning is used once: another would be no better.
        """
        return self._lifetime > 0 and self.is_expired()

    def fetch_token(self) -> None:
        """Ask for a token."""
        session = self.session or requests.Session()
        response = session.post(self.url, **self._build_request())
        raise_for_status(response)
        self.token, self._lifetime = self._parse_response(response.json())
        self._expires_at = self._clock() + self._lifetime


class CredentialStripper(AuthBase):
    """Remove what the user set for the host of the API; used for requests to any other host.

    Headers in `safe`, and those in `SAFE_HEADERS`, are still sent.
    """

    def __init__(self, replaced_auth: Any = None, safe: Collection[str] = ()) -> None:
        # An address that a server returned may contain the key all the same.
        self.hidden_params: tuple[str, ...] = tuple(getattr(replaced_auth, "hidden_params", ()))
        self.safe = tuple(safe)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Remove the log-in, the headers and the cookies."""
        return strip_for_other_host(request, self.safe)


class CredentialsRequest:
    """The request for a token with the id and the secret of a client, and what its answer means."""

    def __init__(
        self, client_id: str, client_secret: str, extra_data: Mapping[str, Any], default_lifetime: int
    ) -> None:
        self._client_id, self._client_secret, self._extra_data = client_id, client_secret, dict(extra_data)
        self._default_lifetime = default_lifetime

    def build(self) -> dict[str, Any]:
        """The form that is posted."""
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
        """The token, and how many seconds it lives."""
        return str(response_json["access_token"]), int(
            response_json.get("expires_in") or self._default_lifetime
        )


def basic_signer(username: str, password: str) -> HeaderSigner:
    """The header for a name and a password."""
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return HeaderSigner("Authorization", f"Basic {pair}")


def strip_credentials(request: Request, safe: Collection[str] = ()) -> bool:
    """Change a request so that it carries nothing that was set for its host; return whether it did before.

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
    """Remove all headers that are not safe, and all cookies that belong to no host.

    Redirections of the request are stripped as well, even when they lead back: `follow_redirect`.
    """
    known: Any = request
    known.has_left, known.safe_headers = True, tuple(safe)
    jar = RequestsCookieJar()
    for cookie in getattr(request, "_cookies", None) or ():
        if cookie.domain:
            jar.set_cookie(cookie)
    kept = _safe_headers(request.headers, safe)
    request.headers.clear()
    request.headers.update(kept)
    known.prepare_cookies(jar)
    return request


def prepare_redirect(previous: Any, redirected: PreparedRequest) -> bool:
    """Strip a redirected request that leaves the host of the one before; return whether it did."""
    safe = getattr(previous, "safe_headers", ())
    has_left = getattr(previous, "has_left", False) or is_cross_origin(str(previous.url), str(redirected.url))
    if has_left:
        strip_for_other_host(redirected, safe)
    else:
        known: Any = redirected
        known.safe_headers = safe
        record_signer(redirected, signer_of(previous))
    return has_left


def _safe_headers(headers: Mapping[str, Any], safe: Collection[str]) -> dict[str, Any]:
    allowed = SAFE_HEADERS | {name.lower() for name in safe}
    return {name: value for name, value in headers.items() if name.lower() in allowed}


def record_signer(request: PreparedRequest, signer: Any) -> PreparedRequest:
    """The request, which knows from now on who signed it."""
    known: Any = request
    known.signed_by = signer
    return request


def signer_of(request: Any) -> Any:
    """Who signed a request; None where nobody did that is known here.

    >>> from requests import Request
    >>> signer_of(Request("GET", "https://example.com", auth=HeaderSigner("X-Key", "x")).prepare()).name
    'X-Key'
    """
    return getattr(request, "signed_by", None)


def unpickle_signer(signer: AuthBase) -> AuthBase:
    """What stands for whoever left a signer behind when it travelled."""
    return signer


def _check_header_value(header: str, value: Any) -> Any:
    """A value that can stand in a header. One that cannot would be shown by the error of the library."""
    if isinstance(value, str) and _CONTROL_CHARACTERS.search(value):
        raise UsageError(
            f"what is to be said in the header {header} has control characters, such as the end of a line",
            hint="take them off where the secret is read; a file often ends with one",
        )
    return value
