"""A session that retries requests after 429 and 5xx, and when the connection fails.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import requests
from requests.exceptions import ChunkedEncodingError, ConnectionError, HTTPError, Timeout  # noqa: A004 - requests' name
from urllib3.exceptions import InvalidHeader
from urllib3.util.retry import Retry

from penstock.errors import UsageError
from penstock.sources.rest.signers import TokenSigner, prepare_redirect, signer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RETRY_STATUS_CODES: Final = (429, *range(500, 600))
_REDIRECT_FLAG: Final = "is_redirected"
_CONNECTION_ERRORS: Final = (ConnectionError, Timeout, ChunkedEncodingError)


class RetrySession(requests.Session):
    """A session that makes each request up to `attempts` times, with exponential backoff.

    A `Retry-After` of the server is respected, up to `max_delay` seconds. `pace` is called before every
    request that is sent, also before retries and redirects.

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
            raise UsageError(f"attempts must be at least 1, got {attempts}", hint="allow one attempt or more")
        self.timeout, self.attempts, self.backoff, self.max_delay = timeout, attempts, backoff, max_delay
        self.retried, self.pace, self._sleep = frozenset(retried), pace, sleep

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send a request with retries; return or raise the result of the last attempt."""
        if kwargs.pop(_REDIRECT_FLAG, False):
            return self._send(request, kwargs)
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        for attempt in range(1, self.attempts):
            try:
                response = self._send(request, kwargs)
            except _CONNECTION_ERRORS:
                retry_after = None
            except HTTPError as error:
                if error.response is None or error.response.status_code not in self.retried:
                    raise
                retry_after = error.response.headers.get("Retry-After")
            else:
                if response.status_code not in self.retried:
                    return response
                retry_after = response.headers.get("Retry-After")
                response.close()
            self._sleep(retry_delay(attempt, retry_after, backoff=self.backoff, max_delay=self.max_delay))
            _rewind(request)
        return self._send(request, kwargs)

    def resolve_redirects(self, *args: Any, **kwargs: Any) -> Iterator[requests.Response]:
        """Follow redirects; a retry starts again at the first request, not at the redirected one."""
        kwargs[_REDIRECT_FLAG] = True
        yield from super().resolve_redirects(*args, **kwargs)

    def _send(self, request: requests.PreparedRequest, kwargs: dict[str, Any]) -> requests.Response:
        if self.pace is not None:
            self.pace()
        signer = signer_of(request)
        if isinstance(signer, TokenSigner) and signer.needs_refresh():
            # The token may have expired during a pause. The token request itself is unsigned: no recursion.
            signer(request)
        return super().send(request, **kwargs)

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Remove what was set for the first host when a redirect leads to another host."""
        library: Any = super()
        # First, because the library may add credentials for the new host.
        prepare_redirect(response.request, prepared_request)
        library.rebuild_auth(prepared_request, response)

    def settings(self) -> dict[str, Any]:
        """Return the arguments that create an equal session in another process."""
        return {
            "timeout": self.timeout,
            "attempts": self.attempts,
            "backoff": self.backoff,
            "max_delay": self.max_delay,
            "retried": tuple(sorted(self.retried)),
        }

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of the base class and the settings, without `pace`, which is local."""
        library: Any = super()
        return {**library.__getstate__(), **self.settings()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        library: Any = super()
        library.__setstate__(state)
        self.retried, self.pace, self._sleep = frozenset(self.retried), None, time.sleep


def retry_delay(
    attempt: int, retry_after: str | None, *, backoff: float = 1.0, max_delay: float = 300.0
) -> float:
    """Return the seconds to wait after an attempt, counted from 1: `Retry-After` or exponential backoff.

    >>> [retry_delay(attempt, None) for attempt in (1, 2, 3, 20)]
    [1.0, 2.0, 4.0, 300.0]
    >>> retry_delay(1, "7"), retry_delay(1, "soon")
    (7.0, 1.0)
    """
    requested = retry_after_seconds(retry_after) if retry_after else None
    return min(requested if requested is not None else backoff * 2.0 ** min(attempt - 1, 60), max_delay)


def retry_after_seconds(retry_after: str) -> float | None:
    """Return the seconds of a `Retry-After` value; None for an invalid value or a time in the past.

    >>> retry_after_seconds("7")
    7.0
    >>> retry_after_seconds("0"), retry_after_seconds("Fri, 31 Dec 1999 23:59:59 GMT")
    (None, None)
    """
    try:
        return float(Retry().parse_retry_after(retry_after)) or None
    except (InvalidHeader, ValueError, OverflowError):
        return None


def _rewind(request: requests.PreparedRequest) -> None:
    """Rewind a body that is a file, which the previous attempt has read."""
    body: Any = request.body
    position = getattr(request, "_body_position", None)
    if isinstance(position, int) and hasattr(body, "seek"):
        body.seek(position)
