"""Authentication of REST APIs, by dlt's import path."""

from penstock.sources.rest.auth import (
    APIKeyAuth,
    AuthConfigBase,
    BearerTokenAuth,
    HttpBasicAuth,
    OAuth2AuthBase,
    OAuth2ClientCredentials,
    OAuthJWTAuth,
    TApiKeyLocation,
)

__all__ = [
    "APIKeyAuth",
    "AuthConfigBase",
    "BearerTokenAuth",
    "HttpBasicAuth",
    "OAuth2AuthBase",
    "OAuth2ClientCredentials",
    "OAuthJWTAuth",
    "TApiKeyLocation",
]
