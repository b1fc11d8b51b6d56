"""A session that tries again: after 429 and 5xx, and when the connection fails.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import requests
from requests.exceptions import ChunkedEncodingError, ConnectionError, HTTPError, Timeout  # noqa: A004 - its name for it

from penstock.errors import UsageError
from penstock.sources.rest.signers import TokenSigner, prepare_redirect, signer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RETRY_STATUS_CODES: Final = (429, *range(500, 600))
_REDIRECT_FLAG: Final = "is_redirected"
_CONNECTION_ERRORS: Final = (ConnectionError, Timeout, ChunkedEncodingError)


class RetrySession(requests.Session):
    """A session whose requests are made up to `attempts` times, with growing pauses between them.

    A `Retry-After` of the server is kept to, up to `max_delay` seconds. Before every request that leaves,
    a repeated or a redirected one as well, `pace` is called.

    >>> RetrySession(attempts=3).attempts
    3
    """

    def __init__(
        self,
        *,
        timeout: float = 60.0,
        attempts: int = 5,
        backoff: float = 1.0,
        max_delay: float = 300.0,
        retried: Sequence[int] = RETRY_STATUS_CODES,
        pace: Callable[[], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        if attempts < 1:
            raise UsageError(f"a request is made {attempts} times", hint="allow at least one attempt")
        self.timeout, self.attempts, self.backoff, self.max_delay = timeout, attempts, backoff, max_delay
        self.retried, self.pace, self._sleep = frozenset(retried), pace, sleep

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send it, again where that may help; the last answer or error is the one that counts."""
        if kwargs.pop(_REDIRECT_FLAG, False):
            return self._send(request, kwargs)
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        for attempt in range(1, self.attempts):
            try:
                response = self._send(request, kwargs)
            except _CONNECTION_ERRORS:
                after = None
            except HTTPError as error:
                if error.response is None or error.response.status_code not in self.retried:
                    raise
                after = error.response.headers.get("Retry-After")
            else:
                if response.status_code not in self.retried:
                    return response
                after = response.headers.get("Retry-After")
                response.close()
            self._sleep(retry_delay(attempt, after, backoff=self.backoff, max_delay=self.max_delay))
            _rewind(request)
        return self._send(request, kwargs)

    def resolve_redirects(self, *args: Any, **kwargs: Any) -> Iterator[requests.Response]:
        """Follow a redirection; it is the whole way that is tried again, not each step of it."""
        kwargs[_REDIRECT_FLAG] = True
        yield from super().resolve_redirects(*args, **kwargs)

    def _send(self, request: requests.PreparedRequest, kwargs: dict[str, Any]) -> requests.Response:
        if self.pace is not None:
            self.pace()
        signer = signer_of(request)
        if isinstance(signer, TokenSigner) and signer.needs_refresh():
            # Its token came before the pauses. The request for another comes here unsigned, so this ends.
            signer(request)
        return super().send(request, **kwargs)

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Leave behind what was set for the first host when a redirection leads to another one."""
        library: Any = super()
        # Before the library, which may add a log-in for the new host.
        prepare_redirect(response.request, prepared_request)
        library.rebuild_auth(prepared_request, response)

    def settings(self) -> dict[str, Any]:
        """What makes another one like it, elsewhere."""
        return {
            "timeout": self.timeout,
            "attempts": self.attempts,
            "backoff": self.backoff,
            "max_delay": self.max_delay,
            "retried": tuple(sorted(self.retried)),
        }

    def __getstate__(self) -> dict[str, Any]:
        """What a session of the library takes along, and the settings; who paces it stays behind."""
        library: Any = super()
        return {**library.__getstate__(), **self.settings()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        library: Any = super()
        library.__setstate__(state)
        self.retried, self.pace, self._sleep = frozenset(self.retried), None, time.sleep


def retry_delay(
    attempt: int, retry_after: str | None, *, backoff: float = 1.0, max_delay: float = 300.0
) -> float:
    """Seconds to wait after an attempt, counted from 1: what the server says, or twice as long each time.

    >>> [retry_delay(attempt, None) for attempt in (1, 2, 3, 20)]
    [1.0, 2.0, 4.0, 300.0]
    >>> retry_delay(1, "7"), retry_delay(1, "soon")
    (7.0, 1.0)
    """
    said = retry_after_seconds(retry_after) if retry_after else None
    return min(said if said is not None else backoff * 2.0 ** min(attempt - 1, 60), max_delay)


def retry_after_seconds(retry_after: str, now: Callable[[], datetime] | None = None) -> float | None:
    """What a `Retry-After` means: seconds, or a moment; None where it is neither, or is over already.

    >>> retry_after_seconds("7")
    7.0
    >>> retry_after_seconds("0"), retry_after_seconds("Fri, 31 Dec 1999 23:59:59 GMT")
    (None, None)
    """
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text) or None
    try:
        until = parsedate_to_datetime(text)
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        left = (until - (now() if now else datetime.now(UTC))).total_seconds()
    except (ValueError, OverflowError):
        return None
    return left if left > 0 else None


def _rewind(request: requests.PreparedRequest) -> None:
    """A body that is a file has been read by the attempt before."""
    body: Any = request.body
    place = getattr(request, "_body_position", None)
    if isinstance(place, int) and hasattr(body, "seek"):
        body.seek(place)
