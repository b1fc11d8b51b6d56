"""Factories of dlt's destinations that penstock does not have: plug-ins may register these names.

A plug-in is looked up when a factory is called, or passed as `destination=`. Without one, the call is an
`UnknownDestination` that names what to use instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.interfaces import Destination, registered_destination
from penstock.interfaces.replacements import REPLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable


def plugin_factory(name: str, *, first_argument: str = "credentials") -> Callable[..., Destination]:
    """Return the factory of a destination that a plug-in registers.

    Its only positional argument is `first_argument`. The others are the settings of the plug-in, fields of
    its capabilities, `destination_name` and `environment`. None leaves an argument to the configuration.

    >>> from penstock.errors import UnknownDestination
    >>> try:
    ...     plugin_factory("redshift")("redshift://ada@db/shop")
    ... except UnknownDestination as error:
    ...     print(error.message)
    unknown destination 'redshift'
    """

    def factory(first: Any = None, /, **arguments: Any) -> Destination:
        named = arguments if first is None else {first_argument: first, **arguments}
        given = {key: value for key, value in named.items() if value is not None}
        return Destination.from_reference(registered_destination(name), **given)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = (
        f"Return the destination that a plug-in registers as {name!r}.\n\nWithout one: {REPLACEMENTS[name]}."
    )
    return factory


athena = plugin_factory("athena", first_argument="query_result_bucket")
bigquery = plugin_factory("bigquery")
clickhouse = plugin_factory("clickhouse")
databricks = plugin_factory("databricks")
dremio = plugin_factory("dremio")
ducklake = plugin_factory("ducklake")
dummy = plugin_factory("dummy")
fabric = plugin_factory("fabric")
lance = plugin_factory("lance", first_argument="catalog_type")
lancedb = plugin_factory("lancedb")
motherduck = plugin_factory("motherduck")
mssql = plugin_factory("mssql")
qdrant = plugin_factory("qdrant")
redshift = plugin_factory("redshift")
snowflake = plugin_factory("snowflake")
sqlalchemy = plugin_factory("sqlalchemy")
synapse = plugin_factory("synapse")
weaviate = plugin_factory("weaviate")
