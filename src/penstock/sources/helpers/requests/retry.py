"""The client with retries, by dlt's import path."""

from penstock.sources.rest.http_client import HttpClient as Client
from penstock.sources.rest.request_types import RetryPredicate
from penstock.sources.rest.retry import REQUEST_TIMEOUT as DEFAULT_TIMEOUT
from penstock.sources.rest.retry import RETRIED_EXCEPTIONS as DEFAULT_RETRY_EXCEPTIONS
from penstock.sources.rest.retry import RETRY_STATUS_CODES as DEFAULT_RETRY_STATUS
from penstock.sources.rest.retry import HttpSession as Session

__all__ = [
    "DEFAULT_RETRY_EXCEPTIONS",
    "DEFAULT_RETRY_STATUS",
    "DEFAULT_TIMEOUT",
    "Client",
    "RetryPredicate",
    "Session",
]
