"""An HTTP client for REST APIs: pagination, authentication and retries.

Input:   URLs, parameters, paginators.
Output:  pages of rows. The client also runs on executors that have `requests` but not penstock.
Imports: config, interfaces, errors.
"""

from penstock.sources.extras import required_extra

with required_extra("rest", module="requests", needed_for="the REST source"):
    from penstock.sources.rest.auth import (
        APIKeyAuth,
        AuthConfigBase,
        BearerTokenAuth,
        HttpBasicAuth,
        OAuth2AuthBase,
        OAuth2ClientCredentials,
        OAuthJWTAuth,
    )
from penstock.sources.rest.client import PageData, RESTClient, paginate
from penstock.sources.rest.detector import PaginatorFactory
from penstock.sources.rest.http_client import HttpClient, RequestSettings
from penstock.sources.rest.paginators import (
    BaseNextUrlPaginator,
    BasePaginator,
    BaseReferencePaginator,
    HeaderCursorPaginator,
    HeaderLinkPaginator,
    JSONLinkPaginator,
    JSONResponseCursorPaginator,
    JSONResponsePaginator,
    OffsetPaginator,
    PageNumberPaginator,
    RangePaginator,
    SinglePagePaginator,
)
from penstock.sources.rest.retry import HttpSession, RetrySession
from penstock.sources.rest.status import IgnoreResponseException

__all__ = [
    "APIKeyAuth",
    "AuthConfigBase",
    "BaseNextUrlPaginator",
    "BasePaginator",
    "BaseReferencePaginator",
    "BearerTokenAuth",
    "HeaderCursorPaginator",
    "HeaderLinkPaginator",
    "HttpBasicAuth",
    "HttpClient",
    "HttpSession",
    "IgnoreResponseException",
    "JSONLinkPaginator",
    "JSONResponseCursorPaginator",
    "JSONResponsePaginator",
    "OAuth2AuthBase",
    "OAuth2ClientCredentials",
    "OAuthJWTAuth",
    "OffsetPaginator",
    "PageData",
    "PageNumberPaginator",
    "PaginatorFactory",
    "RESTClient",
    "RangePaginator",
    "RequestSettings",
    "RetrySession",
    "SinglePagePaginator",
    "paginate",
]
