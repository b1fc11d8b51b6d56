"""Paginators and authentication by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from requests.auth import AuthBase

from penstock.config import read_settings, resolve_configuration, scope
from penstock.errors import UsageError
from penstock.sources.rest.auth import (
    APIKeyAuth,
    AuthConfigBase,
    BearerTokenAuth,
    HttpBasicAuth,
    OAuth2ClientCredentials,
)
from penstock.sources.rest.paginators import (
    BasePaginator,
    HeaderCursorPaginator,
    HeaderLinkPaginator,
    JSONLinkPaginator,
    JSONResponseCursorPaginator,
    OffsetPaginator,
    PageNumberPaginator,
    SinglePagePaginator,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

PAGINATORS: Final[dict[str, type[BasePaginator] | None]] = {
    "json_link": JSONLinkPaginator,
    "json_response": JSONLinkPaginator,
    "header_link": HeaderLinkPaginator,
    "header_cursor": HeaderCursorPaginator,
    "auto": None,
    "single_page": SinglePagePaginator,
    "cursor": JSONResponseCursorPaginator,
    "offset": OffsetPaginator,
    "page_number": PageNumberPaginator,
}
AUTHS: Final[dict[str, type[AuthConfigBase]]] = {
    "bearer": BearerTokenAuth,
    "api_key": APIKeyAuth,
    "http_basic": HttpBasicAuth,
    "oauth2_client_credentials": OAuth2ClientCredentials,
}


def register_paginator(paginator_name: str, paginator_class: type[BasePaginator]) -> None:
    """Register a paginator class under a name."""
    if not issubclass(paginator_class, BasePaginator):
        raise UsageError(
            f"{paginator_class.__name__} is not a paginator", hint="derive it from BasePaginator"
        )
    PAGINATORS[paginator_name] = paginator_class


def register_auth(auth_name: str, auth_class: type[AuthConfigBase]) -> None:
    """Register an authentication class under a name."""
    if not issubclass(auth_class, AuthConfigBase):
        raise UsageError(
            f"{auth_class.__name__} is not an authentication", hint="derive it from AuthConfigBase"
        )
    AUTHS[auth_name] = auth_class


def build_paginator(paginator: Any) -> BasePaginator | None:
    """Return the configured paginator; None for detection."""
    if paginator is None or isinstance(paginator, BasePaginator):
        return paginator
    kind, arguments = (
        (paginator, {}) if isinstance(paginator, str) else (paginator.get("type", "auto"), paginator)
    )
    paginator_class = PAGINATORS[kind]
    if paginator_class is None:
        return None
    return paginator_class(**{key: value for key, value in arguments.items() if key != "type"})


def build_auth(auth: Any) -> AuthBase | None:
    """Return the configured authentication; missing fields come from settings."""
    if auth is None or (isinstance(auth, AuthBase) and not isinstance(auth, AuthConfigBase)):
        return auth
    spec: Any = auth
    fields: Mapping[str, Any] = {}
    if not isinstance(auth, AuthConfigBase):
        kind, fields = (auth, {}) if isinstance(auth, str) else (auth.get("type", "bearer"), auth)
        spec = AUTHS[kind]
    current = scope()
    resolved: AuthBase = resolve_configuration(
        spec,
        settings=read_settings(),
        sections=current.sections or (),
        pipeline_name=current.pipeline_name,
        explicit={key: value for key, value in fields.items() if key != "type"},
    )
    return resolved
