"""Recognition of HTTP error responses. Also runs on executors without penstock."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

FIRST_ERROR_STATUS: Final = 400


def http_error_details(error: BaseException) -> tuple[str, int] | None:
    """Return the host and the status of an error of an HTTP library; None for any other error.

    Errors of `requests` and `httpx` have the response, those of `urllib` its status.

    >>> from urllib.error import HTTPError
    >>> http_error_details(HTTPError("https://ada:x@api.example.com:8443/v1", 401, "Unauthorized", {}, None))
    ('api.example.com:8443', 401)
    >>> http_error_details(KeyError("id")) is None
    True
    """
    holder: Any = getattr(error, "response", None)
    if holder is None:
        holder = error
    status = getattr(holder, "status_code", getattr(holder, "code", None))
    url = getattr(holder, "url", None)
    if not isinstance(status, int) or status < FIRST_ERROR_STATUS or not url:
        return None
    return urlsplit(str(url)).netloc.rpartition("@")[2], status
