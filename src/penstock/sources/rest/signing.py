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

from penstock.errors import UsageError
from penstock.sources.rest.answers import raise_for_status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from requests import PreparedRequest, Request

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_LOG_INS: Final = ("authorization", "cookie")


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
    """Says nothing, and takes off what a session or a client said: for hosts that are not the API's."""

    def __init__(self, instead_of: Any = None) -> None:
        # An address that a server gave may have the key in it all the same.
        self.hidden_params: tuple[str, ...] = tuple(getattr(instead_of, "hidden_params", ()))

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Take the log-in off."""
        for name in _LOG_INS:
            request.headers.pop(name, None)
        return request


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


def without_log_in(request: Request) -> bool:
    """Change a request so that it, and all that are made of it, are asked without a log-in; had it one?

    >>> from requests import Request
    >>> request = Request("GET", "https://example.com", headers={"authorization": "Bearer x", "X-Said": "y"})
    >>> without_log_in(request)
    True
    >>> request.headers, type(request.auth).__name__
    ({'X-Said': 'y'}, 'Unsigned')
    """
    signed, headers = request.auth, request.headers or {}
    kept = {name: value for name, value in headers.items() if name.lower() not in _LOG_INS}
    request.auth, request.headers = Unsigned(signed), kept
    return len(kept) < len(headers) or not isinstance(signed, (Unsigned, type(None)))


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
