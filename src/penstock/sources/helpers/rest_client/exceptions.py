"""Errors of the client, by dlt's import path."""

from penstock.errors import PenstockError as RESTClientException
from penstock.errors import ResponseNotUnderstood as PaginatorNotFound
from penstock.errors import UsageError as PaginatorSetupError
from penstock.sources.rest.status import IgnoreResponseException

__all__ = [
    "IgnoreResponseException",
    "PaginatorNotFound",
    "PaginatorSetupError",
    "RESTClientException",
]
