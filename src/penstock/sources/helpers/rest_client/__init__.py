"""The client of REST APIs, by dlt's import path.

>>> from penstock.sources.helpers.rest_client import RESTClient
>>> RESTClient("https://api.example.com")
RESTClient('https://api.example.com')
"""

from penstock.sources.rest import AuthConfigBase, BasePaginator, PageData, RESTClient, paginate
from penstock.sources.rest.request_types import Hooks, HTTPMethodBasic

__all__ = [
    "AuthConfigBase",
    "BasePaginator",
    "HTTPMethodBasic",
    "Hooks",
    "PageData",
    "RESTClient",
    "paginate",
]
