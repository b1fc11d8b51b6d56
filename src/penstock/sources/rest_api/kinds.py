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
from penstock.sources.rest.ranges import OffsetPaginator, PageNumberPaginator

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


def made_paginator(said: Any) -> BasePaginator | None:
    """The paginator that was said; None where it is to be found out."""
    if said is None or isinstance(said, BasePaginator):
        return said
    kind, given = (said, {}) if isinstance(said, str) else (said.get("type", "auto"), said)
    made = PAGINATORS[kind]
    return None if made is None else made(**{key: value for key, value in given.items() if key != "type"})


def made_auth(said: Any) -> AuthBase | None:
    """The log-in that was said; what it leaves out comes from the settings."""
    if said is None or (isinstance(said, AuthBase) and not isinstance(said, AuthConfigBase)):
        return said
    spec: Any = said
    given: Mapping[str, Any] = {}
    if not isinstance(said, AuthConfigBase):
        kind, given = (said, {}) if isinstance(said, str) else (said.get("type", "bearer"), said)
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
