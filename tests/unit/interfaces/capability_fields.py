"""Every field of the capabilities: who acts on it, what that means, and the test that shows it.

`engine`: penstock acts on it, for every destination. `client`: it describes statements that only the client
writes, and the client has it in `self.capabilities`. `refused`: penstock cannot honour any other value than
the default. The table in `docs/destinations.md` is made of this.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Actor = Literal["engine", "client", "refused"]

CAPABILITIES: Final = "tests/unit/interfaces/test_capabilities.py"
STRATEGIES: Final = "tests/unit/interfaces/test_table_strategies.py"
ARGUMENTS: Final = "tests/unit/pipeline/test_arguments.py"
PLAN: Final = "tests/unit/load/test_plan.py"
RUN: Final = "tests/unit/load/test_run.py"
RESTORE: Final = "tests/unit/pipeline/test_restore.py"
PRIOR: Final = "tests/unit/normalize/test_prior_schema.py"
REFRESH: Final = "tests/unit/load/test_refresh.py"
_ARRIVES: Final = f"{CAPABILITIES}::test_the_client_gets_a_capability_that_only_it_can_honour"
_SHORTENED: Final = (
    f"{CAPABILITIES}::test_names_of_a_load_are_shortened_to_the_longest_that_the_destination_holds"
)
_NAMES: Final = f"{CAPABILITIES}::test_names_that_the_destination_cannot_hold_are_refused"
_TYPES: Final = f"{CAPABILITIES}::test_columns_are_declared_within_the_types_of_the_destination"


class CapabilityField(NamedTuple):
    """A field: who acts on it, and how."""

    actor: Actor
    meaning: str
    test: str


def _client(meaning: str) -> CapabilityField:
    return CapabilityField("client", meaning, _ARRIVES)


def _engine(meaning: str, test: str) -> CapabilityField:
    return CapabilityField("engine", meaning, test)


def _refused(meaning: str) -> CapabilityField:
    return CapabilityField(
        "refused", meaning, f"{CAPABILITIES}::test_a_capability_that_cannot_be_honoured_is_refused_by_name"
    )


FIELDS: Final[dict[str, CapabilityField]] = {
    "supported_write_dispositions": _engine(
        "other dispositions are refused before anything is read",
        f"{ARGUMENTS}::test_a_disposition_that_the_destination_lacks_is_refused",
    ),
    "supported_merge_strategies": _engine(
        "the first is the default; others are refused before anything is read",
        f"{STRATEGIES}::test_the_first_merge_strategy_is_the_default",
    ),
    "supported_replace_strategies": _engine(
        "the first is the default; the client finds the choice in `x-replace-strategy`",
        f"{CAPABILITIES}::test_the_client_finds_the_strategies_of_a_table",
    ),
    "max_identifier_length": _engine("longer names are shortened", _SHORTENED),
    "max_column_identifier_length": _engine("longer names are shortened", _SHORTENED),
    "has_case_sensitive_identifiers": _engine(
        "False: of two columns that differ only in case, the second gets a tag; such tables are refused",
        f"{PRIOR}::test_columns_that_are_one_name_at_the_destination_get_different_names",
    ),
    "spark_needs": _engine(
        "sessions get these presets", f"{CAPABILITIES}::test_sessions_need_the_presets_of_the_destination"
    ),
    "preferred_loader_file_format": _engine(
        "`reference`: clients read job files; `parquet`, `jsonl`, `csv`: rows are written to such files; "
        "others are refused",
        f"{STRATEGIES}::test_the_preferred_file_format_is_the_default",
    ),
    "supported_loader_file_formats": _engine(
        "the formats that `loader_file_format` and `file_format` may name",
        f"{ARGUMENTS}::test_a_file_format_that_the_destination_cannot_load_is_refused",
    ),
    "loader_file_format_selector": _engine(
        "called for each table", f"{STRATEGIES}::test_selectors_choose_by_the_table"
    ),
    "preferred_staging_file_format": _engine(
        "the format of staged files", f"{STRATEGIES}::test_staged_files_have_a_format_of_their_own"
    ),
    "supported_staging_file_formats": _engine(
        "with `staging=`, rows are written to files of these formats",
        f"{STRATEGIES}::test_staged_files_have_a_format_of_their_own",
    ),
    "recommended_file_size": _engine(
        "the approximate size of files that are written for the destination",
        f"{PLAN}::test_files_have_about_the_recommended_size",
    ),
    "parquet_format": _refused("Spark writes the Parquet files: set `spark.sql.parquet.*`"),
    "max_parallel_load_jobs": _engine(
        "a limit of `load.workers`", f"{RUN}::test_a_destination_may_allow_fewer_jobs_than_the_settings"
    ),
    "loader_parallelism_strategy": _engine(
        "which jobs run at the same time", f"{RUN}::test_concurrent_jobs_are_limited_by_the_destination"
    ),
    "merge_strategies_selector": _engine(
        "called for each table", f"{STRATEGIES}::test_selectors_choose_by_the_table"
    ),
    "replace_strategies_selector": _engine(
        "called for each table", f"{STRATEGIES}::test_selectors_choose_by_the_table"
    ),
    "supports_transactions": _client("statements in transactions"),
    "supports_ddl_transactions": _client("DDL in transactions"),
    "preferred_table_format": _engine(
        "the format of tables; it must be among `supported_table_formats`",
        f"{CAPABILITIES}::test_a_capability_that_cannot_be_honoured_is_refused_by_name",
    ),
    "supported_table_formats": _engine(
        "other formats are refused before anything is read",
        f"{ARGUMENTS}::test_a_table_format_that_the_destination_lacks_is_refused",
    ),
    "naming_convention": _engine(
        "the convention of new schemas without one of their own",
        f"{RESTORE}::test_a_new_schema_has_the_naming_convention_of_the_destination",
    ),
    "casefold_identifier": _engine(
        "names that it makes equal are treated as equal",
        _NAMES,
    ),
    "max_table_nesting": _engine(
        "the nesting of tables without one of their own, instead of the schema's",
        f"{PRIOR}::test_the_nesting_of_the_destination_replaces_that_of_the_schema",
    ),
    "supports_nested_types": _engine(
        'False: `nested="keep"` keeps values as JSON texts',
        _TYPES,
    ),
    "enforces_nulls_on_alter": _client("NOT NULL of added columns"),
    "type_mapper": _engine(
        "maps every column before the first job; its errors stop the load",
        f"{CAPABILITIES}::test_columns_that_the_type_mapper_refuses_stop_the_load",
    ),
    "decimal_precision": _engine(
        "precision and scale of decimals without one",
        _TYPES,
    ),
    "wei_precision": _engine(
        "precision and scale of wei columns without one",
        _TYPES,
    ),
    "timestamp_precision": _client("digits of timestamps without a precision"),
    "max_timestamp_precision": _engine(
        "a higher precision of a column is lowered",
        _TYPES,
    ),
    "schema_supports_numeric_precision": _engine(
        "False: prepared tables have no precision of decimals",
        f"{CAPABILITIES}::test_a_precision_that_the_destination_cannot_be_told_is_left_out",
    ),
    "supports_timestamp_precision_configuration": _engine(
        "False: prepared tables have no precision of timestamps",
        f"{CAPABILITIES}::test_a_precision_that_the_destination_cannot_be_told_is_left_out",
    ),
    "supports_binary_precision_configuration": _engine(
        "False: prepared tables have no precision of binaries",
        f"{CAPABILITIES}::test_a_precision_that_the_destination_cannot_be_told_is_left_out",
    ),
    "supports_native_boolean": _client("the type of booleans"),
    "supports_tz_aware_datetime": _engine(
        "False: timestamps have no time zone, and are in UTC",
        f"{CAPABILITIES}::test_time_zones_follow_the_types_of_the_destination",
    ),
    "supports_tz_aware_datetime_in_cast": _client("literals in casts"),
    "supports_naive_datetime": _engine(
        "False: all timestamps have a time zone",
        f"{CAPABILITIES}::test_time_zones_follow_the_types_of_the_destination",
    ),
    "supports_session_timezone": _client("the time zone of its sessions"),
    "max_text_data_type_length": _client("the length of text columns"),
    "is_max_text_data_type_length_in_bytes": _client("the unit of that length"),
    "sqlglot_dialect": _client("the dialect of its statements"),
    "dialect_capabilities": _client("of a client for several databases"),
    "null_safe_aggregate": _client("aggregates over no rows"),
    "escape_identifier": _client("names in statements"),
    "escape_literal": _client("values in statements"),
    "format_datetime_literal": _client("timestamps in statements"),
    "max_query_length": _client("the length of statements"),
    "is_max_query_length_in_bytes": _client("the unit of that length"),
    "max_query_parameters": _client("the parameters of a statement"),
    "max_rows_per_insert": _client("the rows of a statement"),
    "insert_values_writer_type": _refused("penstock writes no files with INSERT statements"),
    "alter_add_multi_column": _client("ALTER TABLE with several columns"),
    "supports_create_table_if_not_exists": _client("CREATE TABLE IF NOT EXISTS"),
    "supports_truncate_command": _client("TRUNCATE TABLE"),
    "renews_tables": _engine(
        "True: jobs replace refreshed tables themselves, by the hint `x-renew`",
        f"{REFRESH}::test_a_destination_that_cannot_recreate_clears_tables_before_the_first_job",
    ),
    "merges_driver_files": _engine(
        "True: small merged tables are written by the driver too, with the column `_penstock_at`",
        "tests/unit/destinations/duckdb/test_merge_histories.py::test_merge_histories_have_the_tables_of_dlt_after_each_load",
    ),
    "needs_local_packages": _engine(
        "True: packages in a store such as S3 are refused",
        "tests/unit/pipeline/test_target.py::test_packages_in_a_store_are_refused_where_the_driver_reads_them_by_paths",
    ),
    "supports_multiple_statements": _client("several statements in a call"),
    "supports_clone_table": _client("CREATE TABLE … CLONE"),
}
