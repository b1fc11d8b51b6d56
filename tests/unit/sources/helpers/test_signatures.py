"""Names and arguments at the import paths of code written for dlt."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest

ARGUMENTS = {
    "requests:Client": (
        "request_timeout max_connections raise_for_status status_codes exceptions request_max_attempts "
        "retry_condition request_backoff_factor request_max_retry_delay respect_retry_after_header "
        "session_attrs"
    ),
    "requests:Session": "timeout raise_for_status",
    "rest_client:RESTClient": (
        "base_url headers auth paginator data_selector session paginator_factory config"
    ),
    "rest_client:paginate": "url method headers params json auth paginator data_selector hooks data",
    "rest_client:RESTClient.paginate": (
        "path method params json auth paginator data_selector hooks headers data"
    ),
    "rest_client:RESTClient.extract_response": "response data_selector",
    "rest_client:RESTClient.detect_paginator": "response data",
    "rest_client.auth:BearerTokenAuth": "token",
    "rest_client.auth:APIKeyAuth": "name api_key location",
    "rest_client.auth:HttpBasicAuth": "username password",
    "rest_client.auth:OAuth2AuthBase": "access_token",
    "rest_client.auth:OAuth2ClientCredentials": (
        "access_token access_token_url client_id client_secret access_token_request_data "
        "default_token_expiration session"
    ),
    "rest_client.auth:OAuthJWTAuth": (
        "token client_id private_key auth_endpoint scopes headers private_key_passphrase "
        "default_token_expiration session"
    ),
    "rest_client.paginators:HeaderLinkPaginator": "links_next_key",
    "rest_client.paginators:HeaderCursorPaginator": "cursor_key cursor_param",
    "rest_client.paginators:JSONLinkPaginator": "next_url_path",
    "rest_client.paginators:JSONResponsePaginator": "next_url_path",
    "rest_client.paginators:JSONResponseCursorPaginator": (
        "cursor_path cursor_param cursor_body_path stop_after_empty_page has_more_path"
    ),
    "rest_client.paginators:OffsetPaginator": (
        "limit offset offset_param limit_param total_path maximum_offset stop_after_empty_page has_more_path "
        "offset_body_path limit_body_path"
    ),
    "rest_client.paginators:PageNumberPaginator": (
        "base_page page page_param total_path maximum_page stop_after_empty_page has_more_path page_body_path"
    ),
    "rest_client.paginators:RangePaginator": (
        "param_name initial_value value_step base_index maximum_value total_path error_message_items "
        "stop_after_empty_page has_more_path param_body_path"
    ),
    "rest_client.paginators:SinglePagePaginator": "",
    "rest_client.detector:PaginatorFactory": "detectors",
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_callable_takes_the_arguments_of_dlt_first_and_in_its_order(name: str) -> None:
    path, _, attributes = name.partition(":")
    value: Any = import_module(f"penstock.sources.helpers.{path}")
    for attribute in attributes.split("."):
        value = getattr(value, attribute)
    expected = ARGUMENTS[name].split()

    parameters = [parameter for parameter in inspect.signature(value).parameters if parameter != "self"]

    assert parameters[: len(expected)] == expected


def test_every_exported_name_exists() -> None:
    paths = ("", ".requests", ".requests.retry", ".requests.session", ".requests.typing", ".rest_client")
    names = ("auth", "client", "detector", "exceptions", "paginators", "typing", "utils")

    for path in (*paths, *(f".rest_client.{name}" for name in names)):
        module = import_module(f"penstock.sources.helpers{path}")
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
