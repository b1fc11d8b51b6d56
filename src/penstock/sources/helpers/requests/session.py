"""The session without retries, by dlt's import path."""

from penstock.sources.rest.retry import REQUEST_TIMEOUT as DEFAULT_TIMEOUT
from penstock.sources.rest.retry import HttpSession as Session

__all__ = [
    "DEFAULT_TIMEOUT",
    "Session",
]
