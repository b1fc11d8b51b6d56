"""HTTP requests with retries, by dlt's import path.

>>> from penstock.sources.helpers import requests
>>> requests.Client(request_max_attempts=3).session.attempts
3
"""

from requests import Request, Response
from requests.exceptions import (
    ChunkedEncodingError,
    ConnectionError,  # noqa: A004 - the name of requests
    ConnectTimeout,
    FileModeWarning,
    HTTPError,
    ReadTimeout,
    RequestException,
    RetryError,
    Timeout,
    TooManyRedirects,
    URLRequired,
)

from penstock.sources.rest.http_client import HttpClient as Client
from penstock.sources.rest.http_client import (
    client,
    delete,
    get,
    head,
    init,
    options,
    patch,
    post,
    put,
    request,
)
from penstock.sources.rest.retry import HttpSession as Session

__all__ = [
    "ChunkedEncodingError",
    "Client",
    "ConnectTimeout",
    "ConnectionError",
    "FileModeWarning",
    "HTTPError",
    "ReadTimeout",
    "Request",
    "RequestException",
    "Response",
    "RetryError",
    "Session",
    "Timeout",
    "TooManyRedirects",
    "URLRequired",
    "client",
    "delete",
    "get",
    "head",
    "init",
    "options",
    "patch",
    "post",
    "put",
    "request",
]
