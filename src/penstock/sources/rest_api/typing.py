"""Types of the configuration of `rest_api_source`, for annotations.

Type checkers find wrong keys with them; at run time the configuration is checked by `check_config`.

>>> config: RESTAPIConfig = {"client": {"base_url": "https://api.example.com"}, "resources": ["orders"]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

from requests import Session  # noqa: TC002 - types are evaluated by `get_type_hints`

from penstock.sources.resource import Resource  # noqa: TC001 - as above
from penstock.sources.rest.auth import (
    APIKeyAuth,
    AuthConfigBase,
    BearerTokenAuth,
    HttpBasicAuth,
    OAuth2ClientCredentials,
    TApiKeyLocation,
)
from penstock.sources.rest.paginators import BasePaginator
from penstock.sources.rest.request_types import HTTPMethod, HTTPMethodBasic

PaginatorType = Literal[
    "json_link",
    "json_response",
    "header_link",
    "header_cursor",
    "auto",
    "single_page",
    "cursor",
    "offset",
    "page_number",
]
AuthType = Literal["bearer", "api_key", "http_basic", "oauth2_client_credentials"]
ParamBindType = Literal["resolve", "incremental"]


class PaginatorTypeConfig(TypedDict):
    """A paginator by name."""

    type: PaginatorType


class PageNumberPaginatorConfig(PaginatorTypeConfig, total=False):
    """The arguments of `PageNumberPaginator`."""

    base_page: int | None
    page: int | None
    page_param: str | None
    total_path: str | None
    maximum_page: int | None
    stop_after_empty_page: bool | None
    has_more_path: str | None
    page_body_path: str | None


class OffsetPaginatorConfig(PaginatorTypeConfig, total=False):
    """The arguments of `OffsetPaginator`."""

    limit: int
    offset: int | None
    offset_param: str | None
    offset_body_path: str | None
    limit_param: str | None
    limit_body_path: str | None
    total_path: str | None
    maximum_offset: int | None
    stop_after_empty_page: bool | None
    has_more_path: str | None


class HeaderLinkPaginatorConfig(PaginatorTypeConfig, total=False):
    """The arguments of `HeaderLinkPaginator`."""

    links_next_key: str | None


class HeaderCursorPaginatorConfig(PaginatorTypeConfig, total=False):
    """The arguments of `HeaderCursorPaginator`."""

    cursor_key: str | None
    cursor_param: str | None


class JSONLinkPaginatorConfig(PaginatorTypeConfig, total=False):
    """The arguments of `JSONLinkPaginator`."""

    next_url_path: str | None


class JSONResponseCursorPaginatorConfig(PaginatorTypeConfig, total=False):
    """The arguments of `JSONResponseCursorPaginator`."""

    cursor_path: str | None
    cursor_param: str | None
    cursor_body_path: str | None
    stop_after_empty_page: bool | None
    has_more_path: str | None


PaginatorConfig = (
    PaginatorType
    | PageNumberPaginatorConfig
    | OffsetPaginatorConfig
    | HeaderLinkPaginatorConfig
    | HeaderCursorPaginatorConfig
    | JSONLinkPaginatorConfig
    | JSONResponseCursorPaginatorConfig
    | BasePaginator
    | None
)


class AuthTypeConfig(TypedDict):
    """Authentication by name."""

    type: AuthType


class BearerTokenAuthConfig(TypedDict, total=False):
    """The fields of `BearerTokenAuth`; its type is the default."""

    type: AuthType | None
    token: str


class ApiKeyAuthConfig(AuthTypeConfig, total=False):
    """The fields of `APIKeyAuth`."""

    name: str | None
    api_key: str
    location: TApiKeyLocation | None


class HttpBasicAuthConfig(AuthTypeConfig):
    """The fields of `HttpBasicAuth`."""

    username: str
    password: str


class OAuth2ClientCredentialsConfig(AuthTypeConfig, total=False):
    """The fields of `OAuth2ClientCredentials`."""

    access_token: str | None
    access_token_url: str
    client_id: str
    client_secret: str
    access_token_request_data: dict[str, Any] | None
    default_token_expiration: int | None
    session: Session | None


AuthConfig = (
    AuthConfigBase
    | AuthType
    | BearerTokenAuth
    | BearerTokenAuthConfig
    | APIKeyAuth
    | ApiKeyAuthConfig
    | HttpBasicAuth
    | HttpBasicAuthConfig
    | OAuth2ClientCredentials
    | OAuth2ClientCredentialsConfig
    | None
)


class ClientConfig(TypedDict, total=False):
    """The client of all endpoints."""

    base_url: Required[str]
    headers: Mapping[str, str] | None
    auth: AuthConfig
    paginator: PaginatorConfig
    session: Session | None
    rate_limit: str | None
    safe_headers: Sequence[str] | None


class IncrementalArgs(TypedDict, total=False):
    """The arguments of `penstock.sources.incremental`."""

    cursor_path: Required[str]
    initial_value: Any
    last_value_func: Callable[..., Any] | Literal["min", "max"] | None
    primary_key: Any
    end_value: Any
    row_order: Literal["asc", "desc"] | None
    allow_external_schedulers: bool | None
    lag: float | None
    on_cursor_value_missing: Literal["raise", "include", "exclude"] | None
    range_start: Literal["open", "closed"] | None
    range_end: Literal["open", "closed"] | None


class IncrementalRESTArgs(IncrementalArgs, total=False):
    """The arguments of a cursor, with a function for its values in requests."""

    convert: Callable[..., Any] | None


class IncrementalConfig(IncrementalRESTArgs, total=False):
    """A cursor of an endpoint, with the parameters for its values."""

    start_param: str | None
    end_param: str | None


class ParamBindConfig(TypedDict):
    """A parameter whose value is bound when the endpoint is read."""

    type: ParamBindType


class IncrementalParamConfig(ParamBindConfig, IncrementalRESTArgs):
    """A parameter with the start value of a cursor."""


class ResolveParamConfig(ParamBindConfig):
    """A parameter with a field of the parent row."""

    resource: str
    field: str


class ResponseActionDict(TypedDict, total=False):
    """An action for responses with a status or a text."""

    status_code: int | str | None
    content: str | None
    action: str | Callable[..., Any] | list[Callable[..., Any]] | None


ResponseAction = ResponseActionDict | Callable[..., Any]


class EndpointConfig(TypedDict, total=False):
    """An endpoint of the API; `Endpoint` is dlt's name for it."""

    path: str | None
    method: HTTPMethod | None
    params: Mapping[str, ResolveParamConfig | IncrementalParamConfig | Any] | None
    json: Mapping[str, Any] | None
    data: Any
    headers: Mapping[str, Any] | None
    paginator: PaginatorConfig
    data_selector: str | None
    response_actions: Sequence[ResponseAction] | None
    incremental: IncrementalConfig | None
    auth: AuthConfig


Endpoint = EndpointConfig


class ProcessingSteps(TypedDict, total=False):
    """A step for the rows of a resource: a filter or a map."""

    filter: Callable[[Any], bool] | None
    map: Callable[[Any], Any] | None
    yield_map: Callable[[Any], Iterator[Any]] | None


class ResourceBase(TypedDict, total=False):
    """The hints of a resource."""

    table_name: str | Callable[[Any], str] | None
    max_table_nesting: int | None
    write_disposition: Any
    columns: Any
    primary_key: Any
    merge_key: Any
    schema_contract: Any
    table_format: Any
    file_format: Any
    references: Any
    nested_hints: Any
    nested: Any
    selected: bool | None
    parallelized: bool | None
    processing_steps: Sequence[ProcessingSteps] | None


class EndpointResourceBase(ResourceBase, total=False):
    """The defaults of all resources: hints and the endpoint."""

    endpoint: str | EndpointConfig | None
    include_from_parent: Sequence[str] | None
    spread: bool | int | None


class EndpointResource(EndpointResourceBase, total=False):
    """A resource with its endpoint."""

    name: Required[str]


class RESTAPIConfigBase(TypedDict):
    """The client and the resources of an API."""

    client: ClientConfig
    resources: Sequence[str | EndpointResource | Resource]


class RESTAPIConfig(RESTAPIConfigBase, total=False):
    """The configuration of a source: `client`, `resources`, and `resource_defaults` for all resources."""

    resource_defaults: EndpointResourceBase | None


__all__ = [
    "ApiKeyAuthConfig",
    "AuthConfig",
    "AuthType",
    "AuthTypeConfig",
    "BearerTokenAuthConfig",
    "ClientConfig",
    "Endpoint",
    "EndpointConfig",
    "EndpointResource",
    "EndpointResourceBase",
    "HTTPMethodBasic",
    "HeaderCursorPaginatorConfig",
    "HeaderLinkPaginatorConfig",
    "HttpBasicAuthConfig",
    "IncrementalArgs",
    "IncrementalConfig",
    "IncrementalParamConfig",
    "IncrementalRESTArgs",
    "JSONLinkPaginatorConfig",
    "JSONResponseCursorPaginatorConfig",
    "OAuth2ClientCredentialsConfig",
    "OffsetPaginatorConfig",
    "PageNumberPaginatorConfig",
    "PaginatorConfig",
    "PaginatorType",
    "PaginatorTypeConfig",
    "ParamBindConfig",
    "ParamBindType",
    "ProcessingSteps",
    "RESTAPIConfig",
    "RESTAPIConfigBase",
    "ResolveParamConfig",
    "ResourceBase",
    "ResponseAction",
    "ResponseActionDict",
    "TApiKeyLocation",
]
