"""A source for REST APIs, declared by a dict of endpoints.

Input:   the configuration of dlt's `rest_api`: a client, defaults, and resources with endpoints.
Output:  a source whose resources make requests when they are read.
Imports: the client in `sources.rest`, config, interfaces.
"""

from penstock.sources.extras import required_extra

with required_extra("rest", module="requests", needed_for="the REST source"):
    from penstock.sources.rest import (
        APIKeyAuth,
        AuthConfigBase,
        BasePaginator,
        BearerTokenAuth,
        HttpBasicAuth,
        OAuth2ClientCredentials,
        RESTClient,
    )
    from penstock.sources.rest_api.registry import build_auth as create_auth
    from penstock.sources.rest_api.registry import build_paginator as create_paginator
    from penstock.sources.rest_api.registry import register_auth, register_paginator
    from penstock.sources.rest_api.source import (
        check_connection,
        rest_api,
        rest_api_resources,
        rest_api_source,
    )
    from penstock.sources.rest_api.typing import (
        ClientConfig,
        Endpoint,
        EndpointResource,
        EndpointResourceBase,
        IncrementalParamConfig,
        ProcessingSteps,
        ResolveParamConfig,
        RESTAPIConfig,
    )

__all__ = [
    "APIKeyAuth",
    "AuthConfigBase",
    "BasePaginator",
    "BearerTokenAuth",
    "ClientConfig",
    "Endpoint",
    "EndpointResource",
    "EndpointResourceBase",
    "HttpBasicAuth",
    "IncrementalParamConfig",
    "OAuth2ClientCredentials",
    "ProcessingSteps",
    "RESTAPIConfig",
    "RESTClient",
    "ResolveParamConfig",
    "check_connection",
    "create_auth",
    "create_paginator",
    "register_auth",
    "register_paginator",
    "rest_api",
    "rest_api_resources",
    "rest_api_source",
]
