"""`rest_api_source` and related functions: sources and resources from a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.config import config_value, redact
from penstock.errors import PenstockError
from penstock.sources.decorators import source
from penstock.sources.rest_api.plan import SECTION
from penstock.sources.rest_api.run import make_resources
from penstock.sources.rest_api.validation import check_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema import Schema
    from penstock.sources.resource import Resource
    from penstock.sources.rest_api.typing import RESTAPIConfig
    from penstock.sources.source import Source


@source(section=SECTION)
def rest_api(
    client: Any = config_value, resources: Any = config_value, resource_defaults: Any = None
) -> list[Resource]:
    """Return the resources of an API whose configuration may come from settings."""
    return rest_api_resources(
        {"client": client, "resources": resources, "resource_defaults": resource_defaults}
    )


def rest_api_source(
    config: RESTAPIConfig | Mapping[str, Any],
    name: str | None = None,
    section: str | None = None,
    max_table_nesting: int | None = None,
    root_key: bool | None = None,  # noqa: FBT001 - as above
    schema: Schema | None = None,
    schema_contract: Any = None,
    parallelized: bool = False,  # noqa: FBT001, FBT002 - as above
) -> Source:
    """Declare a source for an API.

    >>> shop = rest_api_source({
    ...     "client": {"base_url": "https://api.example.com/v1", "paginator": "header_link"},
    ...     "resources": ["customers", {"name": "orders", "endpoint": {"params": {"state": "all"}}}],
    ... })
    >>> list(shop.resources)
    ['customers', 'orders']
    """
    check_config(config)
    factory = rest_api.clone(
        name=name,
        section=section,
        max_table_nesting=max_table_nesting,
        root_key=root_key,
        schema=schema,
        schema_contract=schema_contract,
        parallelized=parallelized,
    )
    return factory(**config)


def rest_api_resources(config: RESTAPIConfig | Mapping[str, Any]) -> list[Resource]:
    """Return the resources of an API, for use in another source.

    >>> [resource.name for resource in rest_api_resources(
    ...     {"client": {"base_url": "https://api.example.com"}, "resources": ["orders"]}
    ... )]
    ['orders']
    """
    check_config(config)
    return make_resources(config)


def check_connection(source: Source, *resource_names: str) -> tuple[bool, str]:
    """Return whether the first page of each of these resources can be read, and the error if not."""
    try:
        list(source.with_resources(*resource_names).add_limit(1))
    except PenstockError as error:
        return False, redact(str(error))
    return True, ""
