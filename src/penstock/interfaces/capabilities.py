"""Capabilities of destinations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from penstock.errors import UnsupportedCapability
from penstock.schema import TColumnSchema, TTableSchema, TWriteDisposition, TypeLimits, naming_convention

TLoaderFileFormat = Literal[
    "jsonl", "typed-jsonl", "insert_values", "parquet", "csv", "reference", "model", "sql"
]
TTableFormat = Literal["iceberg", "delta", "hive", "native"]
TLoaderMergeStrategy = Literal["delete-insert", "scd2", "upsert", "insert-only", "cdc"]
TLoaderReplaceStrategy = Literal["truncate-and-insert", "insert-from-staging", "staging-optimized"]
TLoaderParallelismStrategy = Literal["parallel", "table-sequential", "sequential"]
TFormatSelector = Callable[..., tuple[Any, Sequence[Any]]]
TStrategiesSelector = Callable[..., Sequence[Any]]

WRITTEN_FORMATS: Final[tuple[TLoaderFileFormat, ...]] = ("parquet", "jsonl", "csv")
"""The formats in which penstock writes the rows of a job for a destination that reads files."""


class DataTypeMapper(ABC):
    """The types of a destination, as its capabilities declare them.

    Every column is mapped before the first job of a load: an error of the mapper stops the load.
    """

    def __init__(self, capabilities: DestinationCapabilitiesContext) -> None:
        self.capabilities = capabilities

    @abstractmethod
    def to_destination_type(self, column: TColumnSchema, table: TTableSchema) -> str:
        """Return the type of the destination for a column of a table."""

    @abstractmethod
    def from_destination_type(self, db_type: str, precision: int | None, scale: int | None) -> TColumnSchema:
        """Return the column type of a type of the destination."""

    @abstractmethod
    def ensure_supported_type(
        self, column: TColumnSchema, table: TTableSchema, loader_file_format: TLoaderFileFormat
    ) -> None:
        """Raise `ValueError` if the destination cannot load the column from files of a format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationCapabilitiesContext:
    """The capabilities of a destination.

    The first ones have no default, because they decide how rows are written, so every destination must set
    them. The others have the value of most destinations.

    >>> answers = DestinationCapabilitiesContext(
    ...     supported_write_dispositions=("append",), supported_merge_strategies=(),
    ...     supported_replace_strategies=(), max_identifier_length=63, max_column_identifier_length=63,
    ...     has_case_sensitive_identifiers=False, spark_needs=())
    >>> answers.preferred_loader_file_format, answers.decimal_precision
    ('reference', (38, 9))
    """

    supported_write_dispositions: Sequence[TWriteDisposition]
    supported_merge_strategies: Sequence[TLoaderMergeStrategy]
    """The first one is the default."""
    supported_replace_strategies: Sequence[TLoaderReplaceStrategy]
    """The first one is the default."""
    max_identifier_length: int
    """Longer names are shortened in normalize."""
    max_column_identifier_length: int
    has_case_sensitive_identifiers: bool
    spark_needs: tuple[str, ...]
    """Keys of the preset table: jars and extensions that sessions need, such as `delta`; may be empty."""

    # Job files
    preferred_loader_file_format: TLoaderFileFormat | None = "reference"
    """`reference`: the job file points to data files of its package; `penstock.package.read_job` opens it.

    One of `WRITTEN_FORMATS`: the rows of each job are written to files of that format, which
    `read_job(path).files()` returns. None: the destination loads from staging only.
    """
    supported_loader_file_formats: Sequence[TLoaderFileFormat] = ("reference", "sql")
    loader_file_format_selector: TFormatSelector | None = None
    preferred_staging_file_format: TLoaderFileFormat | None = None
    supported_staging_file_formats: Sequence[TLoaderFileFormat] = ()
    recommended_file_size: int | None = None
    """The size in bytes of the files that are written for the destination, about."""
    parquet_format: Any = None

    # Loading
    max_parallel_load_jobs: int | None = None
    loader_parallelism_strategy: TLoaderParallelismStrategy | None = None
    """None: `parallel`."""
    merge_strategies_selector: TStrategiesSelector | None = None
    replace_strategies_selector: TStrategiesSelector | None = None
    supports_transactions: bool = False
    supports_ddl_transactions: bool = False

    # Tables and names
    preferred_table_format: TTableFormat | None = None
    supported_table_formats: Sequence[TTableFormat] = ()
    naming_convention: str | None = None
    """The convention of new schemas without one: a name, or a module with a class `NamingConvention`."""
    casefold_identifier: Callable[[str], str] = str
    max_table_nesting: int | None = None
    supports_nested_types: bool = False
    enforces_nulls_on_alter: bool = True

    # Types
    type_mapper: Callable[[DestinationCapabilitiesContext], DataTypeMapper] | None = None
    decimal_precision: tuple[int, int] = (38, 9)
    wei_precision: tuple[int, int] = (78, 0)
    timestamp_precision: int = 6
    max_timestamp_precision: int = 6
    schema_supports_numeric_precision: bool = True
    supports_timestamp_precision_configuration: bool = True
    supports_binary_precision_configuration: bool = True
    supports_native_boolean: bool = True
    supports_tz_aware_datetime: bool = True
    supports_tz_aware_datetime_in_cast: bool | None = None
    supports_naive_datetime: bool = True
    supports_session_timezone: bool = False
    max_text_data_type_length: int | None = None
    is_max_text_data_type_length_in_bytes: bool = True

    # SQL
    sqlglot_dialect: str | None = None
    dialect_capabilities: Any = None
    null_safe_aggregate: Callable[[Any], Any] | None = None
    escape_identifier: Callable[[str], str] | None = None
    escape_literal: Callable[[Any], Any] | None = None
    format_datetime_literal: Callable[..., str] | None = None
    max_query_length: int | None = None
    is_max_query_length_in_bytes: bool = True
    max_query_parameters: int | None = None
    max_rows_per_insert: int | None = None
    insert_values_writer_type: Literal["default", "select_union"] = "default"
    alter_add_multi_column: bool = True
    supports_create_table_if_not_exists: bool = True
    supports_truncate_command: bool = True
    renews_tables: bool = False
    """Whether its jobs read the hint `x-renew` and replace a chain themselves.

    If False, refreshed tables are dropped or emptied before the first job of their load.
    """
    merges_driver_files: bool = False
    """Whether jobs merge the rows in files of the driver, which have a column with positions.

    If False, merged rows are written by Spark, however few they are.
    """
    needs_local_packages: bool = False
    """Whether the driver opens the files of packages by paths, so that packages cannot be in a store."""
    supports_multiple_statements: bool = True
    supports_clone_table: bool = False

    def generates_case_sensitive_identifiers(self) -> bool:
        """Return whether names that differ only in case are different names at the destination."""
        return self.has_case_sensitive_identifiers and self.casefold_identifier is str

    def folded_identifier(self, identifier: str) -> str:
        """Return what the destination makes of a name: names with the same result are one name there."""
        return self.casefold_identifier(
            identifier if self.has_case_sensitive_identifiers else identifier.casefold()
        )

    def get_type_mapper(self) -> DataTypeMapper | None:
        """Return the types of the destination; None if it declares none."""
        return None if self.type_mapper is None else self.type_mapper(self)

    @property
    def type_limits(self) -> TypeLimits:
        """The limits of column types, which normalize applies to every table."""
        timezones = None
        if not (self.supports_tz_aware_datetime and self.supports_naive_datetime):
            timezones = self.supports_tz_aware_datetime
        return TypeLimits(
            decimal=self.decimal_precision,
            wei=self.wei_precision,
            timestamp=self.max_timestamp_precision,
            timezones=timezones,
            nested=self.supports_nested_types,
        )


def check_capabilities(capabilities: DestinationCapabilitiesContext, destination: str) -> None:
    """Refuse capabilities that penstock cannot honour, by name; a destination is checked when it is opened.

    >>> from dataclasses import replace
    >>> from penstock.interfaces import find_destination
    >>> delta = find_destination("delta").capabilities()
    >>> check_capabilities(replace(delta, preferred_loader_file_format="insert_values"), "lake")
    Traceback (most recent call last):
    penstock.errors.UnsupportedCapability: lake: capability preferred_loader_file_format is 'insert_values'...
    """
    for name, reason, remedy in _refused_capabilities(capabilities):
        value = getattr(capabilities, name)
        raise UnsupportedCapability(
            destination=destination, name=name, value=value, reason=reason, remedy=remedy
        )
    if capabilities.naming_convention is not None:
        # Imported here: a stored schema may name a convention only if its module is imported.
        naming_convention(capabilities.naming_convention)


def _refused_capabilities(
    capabilities: DestinationCapabilitiesContext,
) -> Iterator[tuple[str, str, str]]:
    """Yield the name of a capability, why penstock cannot honour it, and what to set instead."""
    writes = f"penstock writes {', '.join(WRITTEN_FORMATS)} files, or job files of format 'reference'"
    formats = f"use one of: reference, {', '.join(WRITTEN_FORMATS)}"
    if capabilities.preferred_loader_file_format not in (None, "reference", *WRITTEN_FORMATS):
        yield "preferred_loader_file_format", writes, formats
    if capabilities.preferred_loader_file_format is None and not capabilities.supported_staging_file_formats:
        yield "preferred_loader_file_format", "the destination takes no staging files either", formats
    staging = capabilities.supported_staging_file_formats
    if capabilities.preferred_staging_file_format not in (None, *WRITTEN_FORMATS):
        yield "preferred_staging_file_format", writes, f"use one of: {', '.join(WRITTEN_FORMATS)}"
    if staging and not set(staging) & set(WRITTEN_FORMATS):
        yield "supported_staging_file_formats", writes, f"add one of: {', '.join(WRITTEN_FORMATS)}"
    if capabilities.insert_values_writer_type != "default":
        reason = "penstock writes no files with INSERT statements"
        yield "insert_values_writer_type", reason, "leave it out, and build statements in the client"
    if capabilities.parquet_format is not None:
        reason = "Spark writes the Parquet files"
        yield (
            "parquet_format",
            reason,
            "leave it out, and set spark.sql.parquet.* in [spark.conf]",
        )
    if not capabilities.supports_tz_aware_datetime and not capabilities.supports_naive_datetime:
        reason = "the destination has no type for timestamps without a time zone either"
        yield "supports_tz_aware_datetime", reason, "set it or supports_naive_datetime to True"
    preferred = capabilities.preferred_table_format
    if preferred is not None and preferred not in capabilities.supported_table_formats:
        reason = "it is not among supported_table_formats"
        yield "preferred_table_format", reason, "add it there"
