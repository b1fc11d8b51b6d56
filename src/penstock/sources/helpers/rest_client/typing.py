"""The types of the client, by dlt's import path."""

from penstock.sources.rest.request_types import (
    HookEvent,
    HookFunction,
    Hooks,
    HTTPMethod,
    HTTPMethodBasic,
    HTTPMethodExtended,
)

__all__ = [
    "HTTPMethod",
    "HTTPMethodBasic",
    "HTTPMethodExtended",
    "HookEvent",
    "HookFunction",
    "Hooks",
]
