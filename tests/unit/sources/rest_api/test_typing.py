"""The types of the configuration have the keys that the configuration may have."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

from penstock.sources.rest_api import (
    ClientConfig,
    Endpoint,
    EndpointResource,
    ProcessingSteps,
    RESTAPIConfig,
    config_setup,
    typing,
    validation,
)
from penstock.sources.rest_api.registry import AUTHS, PAGINATORS

CLASSES = {
    "page_number": typing.PageNumberPaginatorConfig,
    "offset": typing.OffsetPaginatorConfig,
    "header_link": typing.HeaderLinkPaginatorConfig,
    "header_cursor": typing.HeaderCursorPaginatorConfig,
    "json_link": typing.JSONLinkPaginatorConfig,
    "cursor": typing.JSONResponseCursorPaginatorConfig,
}
LOGINS = {
    "bearer": typing.BearerTokenAuthConfig,
    "api_key": typing.ApiKeyAuthConfig,
    "http_basic": typing.HttpBasicAuthConfig,
    "oauth2_client_credentials": typing.OAuth2ClientCredentialsConfig,
}


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        (RESTAPIConfig, validation.CONFIG_KEYS),
        (ClientConfig, validation.CLIENT_KEYS),
        (Endpoint, validation.ENDPOINT_KEYS),
        (EndpointResource, validation.RESOURCE_KEYS),
        (ProcessingSteps, validation.STEP_KEYS),
        (typing.ResponseActionDict, validation.ACTION_KEYS),
        (typing.ResolveParamConfig, validation.RESOLVE_KEYS),
    ],
)
def test_a_type_has_the_keys_that_are_accepted(config: type, keys: tuple[str, ...]) -> None:
    assert set(get_type_hints(config)) == set(keys)


@pytest.mark.parametrize("name", CLASSES)
def test_the_type_of_a_paginator_has_its_arguments(name: str) -> None:
    paginator = PAGINATORS[name]
    assert paginator is not None

    assert set(get_type_hints(CLASSES[name])) == {"type", *inspect.signature(paginator).parameters}


@pytest.mark.parametrize("name", LOGINS)
def test_the_type_of_an_authentication_has_its_fields(name: str) -> None:
    assert set(get_type_hints(LOGINS[name])) == {"type", *AUTHS[name].model_fields}


def test_paginators_and_authentication_are_created_by_name() -> None:
    assert str(config_setup.create_paginator({"type": "offset", "limit": 3})) == "OffsetPaginator"
    assert repr(config_setup.create_auth({"type": "bearer", "token": "x7"})) == "BearerTokenAuth(token=***)"


def test_every_exported_name_exists() -> None:
    assert [name for name in typing.__all__ if not hasattr(typing, name)] == []
