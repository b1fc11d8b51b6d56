"""Registration and creation of paginators and authentication, by dlt's import path."""

from penstock.sources.rest_api.registry import (
    build_auth as create_auth,
)
from penstock.sources.rest_api.registry import (
    build_paginator as create_paginator,
)
from penstock.sources.rest_api.registry import (
    register_auth,
    register_paginator,
)

__all__ = ["create_auth", "create_paginator", "register_auth", "register_paginator"]
