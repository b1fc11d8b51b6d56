"""The paginators and log-ins that configuration knows by name, and those made of it."""

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
    SinglePagePaginator,
)
from penstock.sources.rest.range_paginators import OffsetPaginator, PageNumberPaginator

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
    """Make a paginator of your own known by name."""
    if not issubclass(paginator_class, BasePaginator):
        raise UsageError(f"{paginator_class.__name__} is no paginator", hint="derive it from BasePaginator")
    PAGINATORS[paginator_name] = paginator_class


def register_auth(auth_name: str, auth_class: type[AuthConfigBase]) -> None:
    """Make a log-in of your own known by name."""
    if not issubclass(auth_class, AuthConfigBase):
        raise UsageError(f"{auth_class.__name__} is no log-in", hint="derive it from AuthConfigBase")
    AUTHS[auth_name] = auth_class


def build_paginator(paginator: Any) -> BasePaginator | None:
    """The paginator that was said; None where it is to be found out."""
    if paginator is None or isinstance(paginator, BasePaginator):
        return paginator
    kind, given = (
        (paginator, {}) if isinstance(paginator, str) else (paginator.get("type", "auto"), paginator)
    )
    made = PAGINATORS[kind]
    return None if made is None else made(**{key: value for key, value in given.items() if key != "type"})


def build_auth(auth: Any) -> AuthBase | None:
    """The log-in that was said; what it leaves out comes from the settings."""
    if auth is None or (isinstance(auth, AuthBase) and not isinstance(auth, AuthConfigBase)):
        return auth
    spec: Any = auth
    given: Mapping[str, Any] = {}
    if not isinstance(auth, AuthConfigBase):
        kind, given = (auth, {}) if isinstance(auth, str) else (auth.get("type", "bearer"), auth)
        spec = AUTHS[kind]
    now = scope()
    made: AuthBase = resolve_configuration(
        spec,
        settings=read_settings(),
        sections=now.sections or (),
        pipeline_name=now.pipeline_name,
        explicit={key: value for key, value in given.items() if key != "type"},
    )
    return made
