"""The destination reference of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.config import config_value
from penstock.interfaces import DestinationCapabilitiesContext, configured

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from penstock.destinations.functions.adapter import FunctionClient
    from penstock.destinations.functions.settings import FunctionConfiguration
    from penstock.interfaces import DestinationClientConfiguration
    from penstock.schema import Schema

# Names of tables are parts of file names.
_MAX_NAME_LENGTH: Final = 200
_CAPABILITIES: Final = DestinationCapabilitiesContext(
    # The function reads the disposition of the table that it gets.
    supported_write_dispositions=("append", "replace", "merge"),
    supported_merge_strategies=("upsert", "insert-only", "delete-insert", "scd2"),
    supported_replace_strategies=("truncate-and-insert", "insert-from-staging", "staging-optimized"),
    max_identifier_length=_MAX_NAME_LENGTH,
    max_column_identifier_length=65_536,
    has_case_sensitive_identifiers=True,
    spark_needs=(),
    naming_convention="direct",
    max_table_nesting=0,
    supports_nested_types=True,
)


class FunctionReference:
    """The reference of one function."""

    def __init__(self, function: Callable[..., Any], spec: type[FunctionConfiguration]) -> None:
        self.function, self._spec = function, spec

    @property
    def client_class(self) -> type[FunctionClient]:
        """The class of the clients."""
        # Imported here, because the decorator is used where Spark is not installed.
        from penstock.destinations.functions.adapter import FunctionClient  # noqa: PLC0415

        return FunctionClient

    def capabilities(self) -> DestinationCapabilitiesContext:
        """Return the capabilities: names as they are, and no nested tables."""
        return _CAPABILITIES

    def spec(self) -> type[FunctionConfiguration]:
        """Return the class of the settings, with the arguments of the function."""
        return self._spec

    def client(
        self,
        schema: Schema,
        initial_config: DestinationClientConfiguration = config_value,
        *,
        spark: SparkSession | None = None,
    ) -> FunctionClient:
        """Return a client for a schema."""
        config = configured(self._spec, initial_config)
        return self.client_class(schema, config, self.capabilities(), function=self.function, spark=spark)
