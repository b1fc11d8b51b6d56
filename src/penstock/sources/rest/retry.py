"""A session that retries requests after 429 and 5xx, and when the connection fails.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import requests
from requests.exceptions import ChunkedEncodingError, ConnectionError, HTTPError, Timeout  # noqa: A004 - requests' name
from urllib3.exceptions import InvalidHeader
from urllib3.util.retry import Retry

from penstock.errors import UsageError
from penstock.sources.rest.signers import TokenSigner, prepare_redirect, signer_of
from penstock.sources.rest.status import raise_for_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.sources.rest.request_types import RetryPredicate, TRequestTimeout

RETRY_STATUS_CODES: Final = (429, *range(500, 600))
RETRIED_EXCEPTIONS: Final[tuple[type[Exception], ...]] = (ConnectionError, Timeout, ChunkedEncodingError)
REQUEST_TIMEOUT: Final = 60
_REDIRECT_FLAG: Final = "is_redirected"


class RetrySession(requests.Session):
    """A session that makes each request up to `attempts` times, with exponential backoff.

    A `Retry-After` of the server is respected, up to `max_delay` seconds. `conditions` are functions of a
    response and an error, either of which may be None; a request is also retried if one returns True. `pace`
    is called before every request that is sent, also before retries and redirects.

    >>> RetrySession(attempts=3).attempts
    3
    """

    def __init__(  # noqa: PLR0913 - one argument per property of retries
        self,
        *,
        timeout: TRequestTimeout = REQUEST_TIMEOUT,
        attempts: int = 5,
        backoff: float = 1.0,
        max_delay: float = 300.0,
        retried: Sequence[int] = RETRY_STATUS_CODES,
        exceptions: Sequence[type[Exception]] = RETRIED_EXCEPTIONS,
        conditions: Sequence[RetryPredicate] = (),
        respect_retry_after: bool = True,
        pace: Callable[[], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        if attempts < 1:
            raise UsageError(f"attempts must be at least 1, got {attempts}", hint="allow one attempt or more")
        self.timeout = timeout_seconds(timeout)
        self.attempts, self.backoff, self.max_delay = attempts, backoff, max_delay
        self.retried, self.exceptions, self.conditions = frozenset(retried), tuple(exceptions), conditions
        self.respect_retry_after, self.pace, self._sleep = respect_retry_after, pace, sleep

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send a request with retries; return or raise the result of the last attempt."""
        if kwargs.pop(_REDIRECT_FLAG, False):
            return self._send(request, kwargs)
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        for attempt in range(1, self.attempts):
            response: requests.Response | None
            try:
                response = self._send(request, kwargs)
            except Exception as error:
                response = getattr(error, "response", None)
                if not self._is_retried(response, error):
                    raise
            else:
                if not self._is_retried(response, None):
                    return response
            retry_after = None
            if response is not None:
                retry_after = response.headers.get("Retry-After") if self.respect_retry_after else None
                response.close()
            if not getattr(response, "is_replayed", False):  # no server needs the pause
                self._sleep(retry_delay(attempt, retry_after, backoff=self.backoff, max_delay=self.max_delay))
            _rewind(request)
        return self._send(request, kwargs)

    def _is_retried(self, response: requests.Response | None, error: Exception | None) -> bool:
        if error is None or isinstance(error, HTTPError):
            is_retried = response is not None and response.status_code in self.retried
        else:
            is_retried = isinstance(error, self.exceptions)
        return is_retried or any(condition(response, error) for condition in self.conditions)

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
            "exceptions": self.exceptions,
            "conditions": self.conditions,
            "respect_retry_after": self.respect_retry_after,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of the base class and the settings, without `pace`, which is local."""
        library: Any = super()
        return {**library.__getstate__(), **self.settings()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        library: Any = super()
        library.__setstate__(state)
        self.retried, self.pace, self._sleep = frozenset(self.retried), None, time.sleep


class HttpSession(RetrySession):
    """A session with a timeout that raises for error statuses.

    It makes one attempt per request, unless `retries` has arguments of `RetrySession`.

    >>> HttpSession(timeout=timedelta(minutes=2)).timeout, HttpSession().attempts
    (120.0, 1)
    """

    def __init__(
        self,
        timeout: TRequestTimeout = REQUEST_TIMEOUT,
        raise_for_status: bool = True,  # noqa: FBT001, FBT002 - dlt's signature
        **retries: Any,
    ) -> None:
        super().__init__(timeout=timeout, **{"attempts": 1, **retries})
        self.raise_for_status = raise_for_status

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send a request with its retries; raise for an error status."""
        is_redirect = kwargs.get(_REDIRECT_FLAG, False)
        response = super().send(request, **kwargs)
        if self.raise_for_status and not is_redirect:
            raise_for_status(response, hidden=getattr(signer_of(request), "hidden_params", ()))
        return response

    def settings(self) -> dict[str, Any]:
        """Return the arguments that create an equal session in another process."""
        return {**super().settings(), "raise_for_status": self.raise_for_status}


def timeout_seconds(timeout: TRequestTimeout) -> Any:
    """Return a timeout as `requests` expects it: seconds, or a pair of seconds to connect and to read.

    >>> timeout_seconds(timedelta(minutes=1)), timeout_seconds((3, timedelta(seconds=5)))
    (60.0, (3, 5.0))
    """
    if isinstance(timeout, tuple):
        return tuple(map(timeout_seconds, timeout))
    return timeout.total_seconds() if isinstance(timeout, timedelta) else timeout


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
