"""An HTTP client with retries for functions of resources: `get`, `post` and the like.

`client`, and the functions of this module, which call it, read their timeout and retries from `[runtime]`.
"""

from __future__ import annotations

import threading
from functools import partialmethod
from typing import TYPE_CHECKING, Any

from requests.adapters import HTTPAdapter

from penstock.config import BaseConfiguration, read_settings, resolve_configuration
from penstock.sources.rest.retry import (
    REQUEST_TIMEOUT,
    RETRIED_EXCEPTIONS,
    RETRY_STATUS_CODES,
    HttpSession,
    timeout_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from requests import Response

    from penstock.sources.rest.request_types import RetryPredicate, Seconds, TRequestTimeout


class RequestSettings(BaseConfiguration):
    """Timeout, retries and error messages of requests, in the section `runtime`."""

    __section__ = "runtime"

    request_timeout: float = REQUEST_TIMEOUT
    request_max_attempts: int = 5
    request_backoff_factor: float = 1.0
    request_max_retry_delay: float = 300.0
    http_show_error_body: bool = False
    http_max_error_body_length: int = 8192


class HttpClient:
    """Makes requests and retries them after 429 and 5xx and when the connection fails.

    Each thread has a session, so one client serves the threads of all resources. `retry_condition` is a
    function of a response and an error, or several, that returns whether to retry as well.

    >>> HttpClient(request_max_attempts=3).session.attempts
    3
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
        self,
        request_timeout: TRequestTimeout = REQUEST_TIMEOUT,
        max_connections: int = 50,
        raise_for_status: bool = True,  # noqa: FBT001, FBT002 - as above
        status_codes: Sequence[int] = RETRY_STATUS_CODES,
        exceptions: Sequence[type[Exception]] = RETRIED_EXCEPTIONS,
        request_max_attempts: int = 5,
        retry_condition: RetryPredicate | Sequence[RetryPredicate] | None = None,
        request_backoff_factor: float = 1,
        request_max_retry_delay: Seconds = 300,
        respect_retry_after_header: bool = True,  # noqa: FBT001, FBT002 - as above
        session_attrs: Mapping[str, Any] | None = None,
    ) -> None:
        conditions = [retry_condition] if callable(retry_condition) else retry_condition or ()
        self._session_options: dict[str, Any] = {
            "timeout": request_timeout,
            "raise_for_status": raise_for_status,
            "retried": status_codes,
            "exceptions": exceptions,
            "attempts": request_max_attempts,
            "conditions": tuple(conditions),
            "backoff": request_backoff_factor,
            "max_delay": timeout_seconds(request_max_retry_delay),
            "respect_retry_after": respect_retry_after_header,
        }
        self._session_attributes = dict(session_attrs or {})
        self._adapter = HTTPAdapter(pool_connections=max_connections, pool_maxsize=max_connections)
        self._sessions = threading.local()

    @property
    def session(self) -> HttpSession:
        """The session of this thread."""
        session: HttpSession | None = getattr(self._sessions, "session", None)
        if session is None:
            session = self._sessions.session = self._new_session()
        return session

    def configure(self, config: RequestSettings | None = None) -> None:
        """Use the timeout and retries of `[runtime]`, or of `config`, for sessions from now on."""
        settings = config or resolve_configuration(RequestSettings, settings=read_settings())
        self._session_options |= {
            "timeout": settings.request_timeout,
            "attempts": settings.request_max_attempts,
            "backoff": settings.request_backoff_factor,
            "max_delay": settings.request_max_retry_delay,
        }
        self._sessions = threading.local()

    update_from_config = configure

    def _new_session(self) -> HttpSession:
        session = HttpSession(**self._session_options)
        for name, value in self._session_attributes.items():
            setattr(session, name, value)
        for scheme in ("http://", "https://"):
            session.mount(scheme, self._adapter)
        return session

    def request(self, method: str, url: str, **kwargs: Any) -> Response:
        """Make a request; the other arguments are those of `requests.request`."""
        return self.session.request(method, url, **kwargs)

    def _call_session(self, method: str, /, *args: Any, **kwargs: Any) -> Response:
        response: Response = getattr(self.session, method)(*args, **kwargs)
        return response

    get = partialmethod(_call_session, "get")
    post = partialmethod(_call_session, "post")
    put = partialmethod(_call_session, "put")
    patch = partialmethod(_call_session, "patch")
    delete = partialmethod(_call_session, "delete")
    options = partialmethod(_call_session, "options")
    head = partialmethod(_call_session, "head")


class _ConfiguredClient(HttpClient):
    """A client that reads `[runtime]` before its first request."""

    _is_configured = False

    def configure(self, config: RequestSettings | None = None) -> None:
        """Use the settings from now on, instead of those that the first request would read."""
        super().configure(config)
        self._is_configured = True

    update_from_config = configure

    def _new_session(self) -> HttpSession:
        if not self._is_configured:
            self.configure()
        return super()._new_session()


client = _ConfiguredClient()
"""The client of the functions of this module."""

request = client.request
get, post, put, patch = client.get, client.post, client.put, client.patch
delete, options, head = client.delete, client.options, client.head


def init(config: RequestSettings | None = None) -> None:
    """Let `client` use these settings, or read `[runtime]` again."""
    client.configure(config)
