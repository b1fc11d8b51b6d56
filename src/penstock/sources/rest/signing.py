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
from penstock.sources.rest.answers import raise_for_status
from penstock.sources.rest.urls import is_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from requests import PreparedRequest, Request

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
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
        self.name, self.said = name, _fit(name, value)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the header."""
        request.headers[self.name] = self.said
        return marked(request, self)


class QuerySigner(AuthBase):
    """Says a query parameter; `hidden_params` are those that no message may show."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self._value, self.hidden_params = name, value, (name,)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the parameter."""
        request.prepare_url(request.url, {self.name: self._value})
        return marked(request, self)


class CookieSigner(AuthBase):
    """Says a cookie, beside those that the session has."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self._value = name, _fit("Cookie", value)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the cookie."""
        there = request.headers.get("Cookie")
        mine = f"{self.name}={self._value}"
        request.headers["Cookie"] = f"{there}; {mine}" if there else mine
        return marked(request, self)


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
        asked: Callable[[], Mapping[str, Any]],
        learned: Callable[[Any], tuple[str, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url, self._asked, self._learned = url, asked, learned
        self.token: str | None = None
        self._clock, self._until, self._seconds = clock, clock(), 0

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token."""
        if self.token is None or self.is_old():
            self.renew()
        request.headers["Authorization"] = _fit("Authorization", f"Bearer {self.token}")
        return marked(request, self)

    def use_session(self, session: Any) -> None:
        """Ask for tokens through this session, unless there is another."""
        self.session = self.session or session

    def is_old(self) -> bool:
        """Whether the time of the token is over."""
        return self._clock() >= self._until

    def has_aged(self) -> bool:
        """Whether the token was good when it came, and is not any more.

        One that was old from the beginning is used once: another would be no better.
        """
        return self._seconds > 0 and self.is_old()

    def renew(self) -> None:
        """Ask for a token."""
        session = self.session or requests.Session()
        response = session.post(self.url, **self._asked())
        raise_for_status(response)
        self.token, self._seconds = self._learned(response.json())
        self._until = self._clock() + self._seconds


class Unsigned(AuthBase):
    """Remove what the user set for the host of the API; used for requests to any other host.

    Headers in `safe`, and those in `SAFE_HEADERS`, are still sent.
    """

    def __init__(self, instead_of: Any = None, safe: Collection[str] = ()) -> None:
        # An address that a server returned may contain the key all the same.
        self.hidden_params: tuple[str, ...] = tuple(getattr(instead_of, "hidden_params", ()))
        self.safe = tuple(safe)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Remove the log-in, the headers and the cookies."""
        return strip_for_other_host(request, self.safe)


class CredentialsRequest:
    """The request for a token with the id and the secret of a client, and what its answer means."""

    def __init__(self, client_id: str, client_secret: str, more: Mapping[str, Any], seconds: int) -> None:
        self._client_id, self._client_secret, self._more = client_id, client_secret, dict(more)
        self._seconds = seconds

    def asked(self) -> dict[str, Any]:
        """The form that is posted."""
        return {
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "data": {
                "client_id": self._client_id,
                "client_secret": self._client_secret,
                "grant_type": "client_credentials",
                **self._more,
            },
        }

    def learned(self, answer: Any) -> tuple[str, int]:
        """The token, and how many seconds it lives."""
        return str(answer["access_token"]), int(answer.get("expires_in") or self._seconds)


def basic(username: str, password: str) -> HeaderSigner:
    """The header for a name and a password."""
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return HeaderSigner("Authorization", f"Basic {pair}")


def without_log_in(request: Request, safe: Collection[str] = ()) -> bool:
    """Change a request so that it carries nothing that was set for its host; return whether it did before.

    >>> from requests import Request
    >>> request = Request("GET", "https://example.com", headers={"X-Api-Key": "x", "Accept": "text/csv"})
    >>> without_log_in(request)
    True
    >>> request.headers, type(request.auth).__name__
    ({'Accept': 'text/csv'}, 'Unsigned')
    """
    signed, headers = request.auth, request.headers or {}
    request.auth, request.headers = Unsigned(signed, safe), _safe_of(headers, safe)
    return len(request.headers) < len(headers) or not isinstance(signed, (Unsigned, type(None)))


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
    kept = _safe_of(request.headers, safe)
    request.headers.clear()
    request.headers.update(kept)
    known.prepare_cookies(jar)
    return request


def follow_redirect(before: Any, following: PreparedRequest) -> bool:
    """Strip a redirected request that leaves the host of the one before; return whether it did."""
    safe = getattr(before, "safe_headers", ())
    has_left = getattr(before, "has_left", False) or is_elsewhere(str(before.url), str(following.url))
    if has_left:
        strip_for_other_host(following, safe)
    else:
        known: Any = following
        known.safe_headers = safe
        marked(following, signer_of(before))
    return has_left


def _safe_of(headers: Mapping[str, Any], safe: Collection[str]) -> dict[str, Any]:
    allowed = SAFE_HEADERS | {name.lower() for name in safe}
    return {name: value for name, value in headers.items() if name.lower() in allowed}


def marked(request: PreparedRequest, signer: Any) -> PreparedRequest:
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


def itself(signer: AuthBase) -> AuthBase:
    """What stands for whoever left a signer behind when it travelled."""
    return signer


def _fit(header: str, value: Any) -> Any:
    """A value that can stand in a header. One that cannot would be shown by the error of the library."""
    if isinstance(value, str) and _CONTROL.search(value):
        raise UsageError(
            f"what is to be said in the header {header} has control characters, such as the end of a line",
            hint="take them off where the secret is read; a file often ends with one",
        )
    return value
