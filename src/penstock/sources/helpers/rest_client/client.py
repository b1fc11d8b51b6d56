"""The client of REST APIs, by dlt's import path."""

from penstock.sources.rest.client import PageData, RESTClient
from penstock.sources.rest.detector import PaginatorFactory
from penstock.sources.rest.request_types import Hooks, HTTPMethod, HTTPMethodBasic
from penstock.sources.rest.status import IgnoreResponseException, raise_for_status

__all__ = [
    "HTTPMethod",
    "HTTPMethodBasic",
    "Hooks",
    "IgnoreResponseException",
    "PageData",
    "PaginatorFactory",
    "RESTClient",
    "raise_for_status",
]
