"""Detection of paginators, by dlt's import path."""

from penstock.sources.rest.detector import (
    PaginatorFactory,
    cursor_paginator_detector,
    header_links_detector,
    json_links_detector,
    pages_number_paginator_detector,
    single_page_detector,
)

__all__ = [
    "PaginatorFactory",
    "cursor_paginator_detector",
    "header_links_detector",
    "json_links_detector",
    "pages_number_paginator_detector",
    "single_page_detector",
]
