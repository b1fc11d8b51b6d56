"""An HTTP client for REST APIs: pages, log-ins and repetitions.

Takes:   addresses, parameters, and how pages follow one another.
Gives:   pages of rows. What makes requests travels to executors that have `requests` and no penstock.
Touches: config, interfaces, errors.
"""

from penstock.sources.extras import required_extra

with required_extra("rest", module="requests", needed_for="the REST source"):
    from penstock.sources.rest.auth import (
        APIKeyAuth,
        AuthConfigBase,
        BearerTokenAuth,
        HttpBasicAuth,
        OAuth2ClientCredentials,
    )
from penstock.sources.rest.client import PageData, RESTClient, paginate
from penstock.sources.rest.paginators import (
    BaseNextUrlPaginator,
    BasePaginator,
    BaseReferencePaginator,
    HeaderCursorPaginator,
    HeaderLinkPaginator,
    JSONLinkPaginator,
    JSONResponseCursorPaginator,
    SinglePagePaginator,
)
from penstock.sources.rest.range_paginators import OffsetPaginator, PageNumberPaginator, RangePaginator
from penstock.sources.rest.retry import RetrySession
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
    "IgnoreResponseException",
    "JSONLinkPaginator",
    "JSONResponseCursorPaginator",
    "OAuth2ClientCredentials",
    "OffsetPaginator",
    "PageData",
    "PageNumberPaginator",
    "RESTClient",
    "RangePaginator",
    "RetrySession",
    "SinglePagePaginator",
    "paginate",
]
