"""The types of requests, by dlt's import path."""

from penstock.sources.rest.request_types import Seconds as TimedeltaSeconds
from penstock.sources.rest.request_types import TRequestTimeout

__all__ = [
    "TRequestTimeout",
    "TimedeltaSeconds",
]
