"""Capabilities of destinations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.schema import TTableSchema, TWriteDisposition

TLoaderFileFormat = Literal[
    "jsonl", "typed-jsonl", "insert_values", "parquet", "csv", "reference", "model", "sql"
]
TTableFormat = Literal["iceberg", "delta", "hive", "native"]
TLoaderMergeStrategy = Literal["delete-insert", "scd2", "upsert", "insert-only", "cdc"]
TLoaderReplaceStrategy = Literal["truncate-and-insert", "insert-from-staging", "staging-optimized"]
TLoaderParallelismStrategy = Literal["parallel", "table-sequential", "sequential"]
TFormatSelector = Callable[..., tuple[Any, Sequence[Any]]]
TStrategiesSelector = Callable[[Sequence[Any], TTableSchema], Sequence[Any]]


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
    preferred_loader_file_format: TLoaderFileFormat = "reference"
    """`reference`: the job file points to data files of its package; `penstock.package.read_job` opens it."""
    supported_loader_file_formats: Sequence[TLoaderFileFormat] = ("reference", "sql")
    loader_file_format_selector: TFormatSelector | None = None
    preferred_staging_file_format: TLoaderFileFormat | None = None
    supported_staging_file_formats: Sequence[TLoaderFileFormat] = ()
    recommended_file_size: int | None = None
    parquet_format: Any = None

    # Loading
    max_parallel_load_jobs: int | None = None
    loader_parallelism_strategy: TLoaderParallelismStrategy = "parallel"
    merge_strategies_selector: TStrategiesSelector | None = None
    replace_strategies_selector: TStrategiesSelector | None = None
    supports_transactions: bool = False
    supports_ddl_transactions: bool = False

    # Tables and names
    preferred_table_format: TTableFormat | None = None
    supported_table_formats: Sequence[TTableFormat] = ()
    naming_convention: str | None = None
    casefold_identifier: Callable[[str], str] = str
    max_table_nesting: int | None = None
    supports_nested_types: bool = False
    enforces_nulls_on_alter: bool = True

    # Types
    type_mapper: Any = None
    decimal_precision: tuple[int, int] = (38, 9)
    wei_precision: tuple[int, int] = (78, 0)
    timestamp_precision: int = 6
    max_timestamp_precision: int = 6
    schema_supports_numeric_precision: bool = True
    supports_native_boolean: bool = True
    supports_tz_aware_datetime: bool = True
    supports_naive_datetime: bool = True
    max_text_data_type_length: int | None = None

    # SQL
    sqlglot_dialect: str | None = None
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
    supports_multiple_statements: bool = True
    supports_clone_table: bool = False
