"""Paginators, by dlt's import path."""

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

__all__ = [
    "BaseNextUrlPaginator",
    "BasePaginator",
    "BaseReferencePaginator",
    "HeaderCursorPaginator",
    "HeaderLinkPaginator",
    "JSONLinkPaginator",
    "JSONResponseCursorPaginator",
    "JSONResponsePaginator",
    "OffsetPaginator",
    "PageNumberPaginator",
    "RangePaginator",
    "SinglePagePaginator",
]
