"""Recognition of HTTP error responses. Also runs on executors without penstock."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

FIRST_ERROR_STATUS: Final = 400
MAX_BODY_LENGTH: Final = 500


def http_error_details(error: BaseException) -> tuple[str, int, str] | None:
    """Return the URL, the status and the body of an error of an HTTP library; None for any other error.

    The URL has no login and no query, which may be secret. The body is shortened. Errors of `requests` and
    `httpx` have the response, those of `urllib` its status, and a body that user code may read.

    >>> from urllib.error import HTTPError
    >>> http_error_details(HTTPError("https://ada:x@api.example.com:8443/v1", 401, "Unauthorized", {}, None))
    ('https://api.example.com:8443/v1', 401, '')
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
    address = urlsplit(str(url))
    host = address.netloc.rpartition("@")[2]
    return f"{address.scheme}://{host}{address.path}", status, _body(holder)


def _body(response: Any) -> str:
    """Return the first characters of the text of a response; empty without one."""
    try:
        text = getattr(response, "text", "")
    except Exception:  # a streamed or undecodable body raises an error of any library
        return ""
    return " ".join(text.split())[:MAX_BODY_LENGTH] if isinstance(text, str) else ""
