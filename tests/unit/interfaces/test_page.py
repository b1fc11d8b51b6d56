"""The page of the destination reference, name by name and sentence by sentence.

`PAGE` holds every class and method of the page with its arguments; an argument is written with its default
behind `=`, and without one when it must be given. `SENTENCES` names, for every sentence that states how
something behaves, the test that holds us to it.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol, get_args

from tests.rule_assertions import assert_no_offenders, assert_sentences_have_tests

import penstock
from penstock import interfaces, schema
from penstock.config import BaseConfiguration, config_value, configspec
from penstock.errors import LoadClientTerminalException, LoadClientTransientException
from penstock.interfaces.client import WithStateSync

if TYPE_CHECKING:
    from collections.abc import Iterator


PAGE: dict[str, dict[str, tuple[str, ...]]] = {
    "DestinationClientConfiguration": {"fingerprint": (), "__str__": ()},
    "DestinationClientDwhConfiguration": {"normalize_dataset_name": ("schema",)},
    "DestinationClientStagingConfiguration": {},
    "DestinationClientDwhWithStagingConfiguration": {},
    "LoadJob": {
        "__init__": ("file_name",),
        "state": (),
        "file_name": (),
        "job_id": (),
        "exception": (),
    },
    "NewLoadJob": {"new_file_path": ()},
    "FollowupJob": {},
    "JobClientBase": {
        "initialize_storage": ("truncate_tables=None",),
        "is_storage_initialized": (),
        "drop_storage": (),
        "update_stored_schema": ("only_tables=None", "expected_update=None"),
        "start_file_load": ("table", "file_path", "load_id"),
        "restore_file_load": ("file_path",),
        "create_table_chain_completed_followup_jobs": ("table_chain",),
        "complete_load": ("load_id",),
    },
    "WithStateSync": {"get_stored_schema": (), "get_stored_state": ("pipeline_name",)},
    "WithStagingDataset": {"get_stage_dispositions": (), "with_staging_dataset": ()},
    "DestinationReference": {
        "capabilities": (),
        "client": ("schema", "initial_config=penstock.config.value"),
        "spec": (),
    },
}

BASES: dict[str, str] = {
    "DestinationClientConfiguration": "BaseConfiguration",
    "DestinationClientDwhConfiguration": "DestinationClientConfiguration",
    "DestinationClientStagingConfiguration": "DestinationClientDwhConfiguration",
    "DestinationClientDwhWithStagingConfiguration": "DestinationClientDwhConfiguration",
    "NewLoadJob": "LoadJob",
    "JobClientBase": "ABC",
    "WithStateSync": "ABC",
    "WithStagingDataset": "ABC",
    "DestinationReference": "Protocol",
}

ABSTRACT: dict[str, frozenset[str]] = {
    "LoadJob": frozenset({"state", "exception"}),
    "NewLoadJob": frozenset({"state", "exception", "new_file_path"}),
    "JobClientBase": frozenset(
        {
            *("initialize_storage", "is_storage_initialized", "drop_storage"),
            *("start_file_load", "restore_file_load", "complete_load"),
        }
    ),
    "WithStateSync": frozenset({"get_stored_schema", "get_stored_state"}),
    "WithStagingDataset": frozenset({"get_stage_dispositions", "with_staging_dataset"}),
}

FIELDS: dict[str, tuple[str, ...]] = {
    "DestinationClientConfiguration": ("destination_name",),
    "DestinationClientDwhConfiguration": ("dataset_name", "default_schema_name", "replace_strategy"),
    "DestinationClientStagingConfiguration": ("layout", "bucket_url"),
    "DestinationClientDwhWithStagingConfiguration": ("staging_config",),
}

CONFIGURATION = "unit/interfaces/test_configuration.py"
LOADJOB = "unit/interfaces/test_loadjob.py"
HERE = "unit/interfaces/test_page.py"
RUN = "unit/load/test_run.py"
CLIENT = "contract/test_example_client.py"
EXAMPLE = "contract/test_example.py"

SENTENCES: dict[str, tuple[str, str, str]] = {
    # DestinationClientConfiguration
    "C1": ("which destination", CONFIGURATION, "the_configuration_has_the_name_of_its_destination"),
    "C2": ("fingerprint", CONFIGURATION, "a_fingerprint_is_a_hash_of_some_fields_and_empty_by_default"),
    "C3": ("displayable location", CONFIGURATION, "the_text_of_a_configuration_is_a_place_without_secrets"),
    # DestinationClientDwhConfiguration
    "D1": (
        "supports datasets",
        CONFIGURATION,
        "the_dataset_is_bound_by_the_pipeline_and_not_by_the_settings",
    ),
    "D2": (
        "dataset prefix",
        CONFIGURATION,
        "the_default_schema_has_the_dataset_and_others_have_it_as_prefix",
    ),
    "D3": (
        "default schema",
        CONFIGURATION,
        "the_default_schema_has_the_dataset_and_others_have_it_as_prefix",
    ),
    "D4": (
        "classic or staging",
        CONFIGURATION,
        "the_replace_strategy_accepts_the_names_of_the_page_and_of_dlt",
    ),
    "D5": ("full name", CONFIGURATION, "the_default_schema_has_the_dataset_and_others_have_it_as_prefix"),
    "D6": ("name is normalized", CONFIGURATION, "the_name_of_a_dataset_is_normalized"),
    "D7": (
        "suffix is skipped",
        CONFIGURATION,
        "the_default_schema_has_the_dataset_and_others_have_it_as_prefix",
    ),
    # Staging configurations
    "S1": (
        "layout, bucket",
        CONFIGURATION,
        "a_staging_destination_has_files_with_a_layout_in_a_bucket_and_datasets",
    ),
    "S2": (
        "standalone",
        CONFIGURATION,
        "a_staging_destination_has_files_with_a_layout_in_a_bucket_and_datasets",
    ),
    "W1": ("from staging", CONFIGURATION, "the_staging_configuration_is_set_at_run_time"),
    "W2": ("injected", CONFIGURATION, "the_staging_configuration_is_set_at_run_time"),
    # LoadJob
    "L1": ("loads a single file", LOADJOB, "a_job_is_identified_by_its_file_name"),
    "L2": ("states", RUN, "a_job_is_polled_until_it_ends"),
    "L3": ("identified by file name", LOADJOB, "a_job_is_identified_by_its_file_name"),
    "L4": ("file exists while running", RUN, "a_job_is_polled_until_it_ends"),
    "L5": ("file may be gone at the end", RUN, "a_job_is_polled_until_it_ends"),
    "L6": ("asked periodically", RUN, "a_job_is_polled_until_it_ends"),
    "L7": ("not called again", RUN, "a_job_is_polled_until_it_ends"),
    "L8": ("asked why, failed", RUN, "a_terminal_error_stops_the_load_and_names_the_job"),
    "L9": (
        "__init__ sets it running",
        EXAMPLE,
        "a_transient_failure_is_retried_and_loaded_once",
    ),
    "L10": ("__init__ may raise", RUN, "a_transient_error_is_retried"),
    "L11": ("unique name", LOADJOB, "a_job_is_identified_by_its_file_name"),
    "L12": ("polls", EXAMPLE, "a_transient_failure_is_retried_and_loaded_once"),
    "L13": ("file_name", LOADJOB, "a_job_is_identified_by_its_file_name"),
    "L14": ("job_id", LOADJOB, "a_job_is_identified_by_its_file_name"),
    "L15": ("exception, retry", RUN, "a_transient_error_is_retried"),
    # NewLoadJob, FollowupJob
    "N1": (
        "saves a new job file",
        RUN,
        "follow_up_jobs_run_later_in_the_final_dataset",
    ),
    "N2": ("path to the new file", LOADJOB, "a_follow_up_job_returns_the_path_of_its_file"),
    "N3": ("empty path", RUN, "follow_up_jobs_run_later_in_the_final_dataset"),
    "F1": ("follow-up", RUN, "follow_up_jobs_run_later_in_the_final_dataset"),
    # JobClientBase
    "J1": ("prepares storage", CLIENT, "storage_is_created_and_dropped_with_its_content"),
    "J2": ("truncates", CLIENT, "the_given_tables_are_truncated"),
    "J3": ("is ready", CLIENT, "storage_is_created_and_dropped_with_its_content"),
    "J4": ("not initialized again", CLIENT, "storage_is_created_and_dropped_with_its_content"),
    "J5": ("data destroyed", CLIENT, "storage_is_created_and_dropped_with_its_content"),
    "J6": (
        "to the current schema",
        CLIENT,
        "only_the_given_tables_are_updated_and_the_changes_are_returned",
    ),
    "J7": ("not the difference", CLIENT, "an_expected_update_does_not_replace_the_inspection_of_tables"),
    "J8": ("only_tables", CLIENT, "only_the_given_tables_are_updated_and_the_changes_are_returned"),
    "J9": ("expected_update", EXAMPLE, "the_package_stores_the_schema_changes_that_the_destination_applied"),
    "J10": (
        "what was applied",
        CLIENT,
        "only_the_given_tables_are_updated_and_the_changes_are_returned",
    ),
    "J11": (
        "starts a job",
        EXAMPLE,
        "nested_rows_are_loaded_and_the_load_is_complete_in_the_destination_and_in_the_ledger",
    ),
    "J12": ("restores", EXAMPLE, "a_process_killed_during_a_job_is_followed_by_one_that_duplicates_nothing"),
    "J13": (
        "after a chain",
        EXAMPLE,
        "a_replace_is_staged_and_published_by_a_follow_up_job_of_the_chain",
    ),
    "J14": (
        "marks as completed",
        EXAMPLE,
        "nested_rows_are_loaded_and_the_load_is_complete_in_the_destination_and_in_the_ledger",
    ),
    "J15": ("invalid before", RUN, "a_terminal_error_stops_the_load_and_names_the_job"),
    # Traits
    "T1": ("newest schema", CLIENT, "the_newest_schema_is_returned"),
    "T2": ("state", EXAMPLE, "a_new_machine_continues_with_the_state_of_the_destination"),
    "G1": ("staging", RUN, "staged_rows_go_to_a_dataset_that_is_truncated_once"),
    "G2": ("dispositions", RUN, "staged_rows_go_to_a_dataset_that_is_truncated_once"),
    "G3": ("on staging", CLIENT, "methods_use_the_staging_dataset_only_inside_the_block"),
    # DestinationReference
    "R1": ("capabilities", HERE, "capabilities_include_formats_lengths_naming_and_escaping"),
    "R2": ("client", EXAMPLE, "a_process_killed_during_a_job_is_followed_by_one_that_duplicates_nothing"),
    "R3": ("spec", CONFIGURATION, "credentials_are_part_of_the_spec_and_are_resolved_from_settings"),
}


def arguments(function: Any) -> tuple[tuple[str, ...], list[inspect.Parameter]]:
    """Return the arguments as the page has them, and those that only ours has."""
    listed = [
        parameter for parameter in inspect.signature(function).parameters.values() if parameter.name != "self"
    ]
    of_the_page = [
        parameter.name
        if parameter.default is inspect.Parameter.empty
        else f"{parameter.name}={parameter.default!r}"
        for parameter in listed
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    return tuple(of_the_page), [
        parameter for parameter in listed if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]


def method_faults(name: str, method: str) -> Iterator[str]:
    """Yield how the arguments of a method differ from the page."""
    of_the_page, ours = arguments(getattr(getattr(interfaces, name), method))
    if of_the_page != PAGE[name][method]:
        yield f"{name}.{method}: {of_the_page}, not {PAGE[name][method]}"
    for parameter in ours:
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            yield f"{name}.{method}: {parameter} must be keyword-only"
        if parameter.default is inspect.Parameter.empty:
            yield f"{name}.{method}: {parameter} must have a default"


def test_every_method_has_the_arguments_of_the_page() -> None:
    assert_no_offenders(
        (
            fault
            for name, methods in PAGE.items()
            for method in methods
            for fault in method_faults(name, method)
        ),
        "declare the arguments of the page; those that only ours has are optional keywords",
    )


def test_every_class_of_the_page_is_exported_with_docstrings() -> None:
    offenders: list[str] = []
    for name, methods in PAGE.items():
        interface = getattr(interfaces, name)
        if name not in interfaces.__all__:
            offenders.append(f"{name} is not in __all__")
        if not (inspect.getdoc(interface) or "").strip():
            offenders.append(f"{name} has no docstring")
        offenders += [
            f"{name}.{method} has no docstring"
            for method in methods
            if not (getattr(interface, method).__doc__ or "").strip()
        ]

    assert_no_offenders(offenders, "export and document what is on the page")


def test_every_class_has_the_base_class_of_the_page() -> None:
    bases = {name: getattr(interfaces, name).__mro__ for name in BASES}

    assert_no_offenders(
        (
            f"{name}: {expected}"
            for name, expected in BASES.items()
            if expected not in {base.__name__ for base in bases[name][1:]}
            or (expected == "Protocol" and Protocol not in bases[name])
        ),
        "derive the class from this base class",
    )


def test_the_abstract_methods_are_those_of_the_page() -> None:
    abstract = {name: getattr(interfaces, name).__abstractmethods__ for name in ABSTRACT}

    assert abstract == ABSTRACT


def test_every_configuration_has_the_fields_of_the_page() -> None:
    offenders: list[str] = []
    for name, expected in FIELDS.items():
        spec = getattr(interfaces, name)
        if not issubclass(spec, BaseConfiguration) or configspec(spec) is not spec:
            offenders.append(f"{name} is not a configuration")
            continue
        offenders += [f"{name}.{field}" for field in expected if field not in spec.model_fields]

    assert_no_offenders(offenders, "declare the field of the page")


def test_the_default_configuration_is_resolved_from_settings() -> None:
    default = inspect.signature(interfaces.DestinationReference.client).parameters["initial_config"].default

    assert default is config_value is penstock.config.value


def test_names_in_the_signatures_of_the_page_exist() -> None:
    assert get_args(interfaces.TLoadJobState) == ("running", "failed", "retry", "completed")
    assert set(get_args(schema.TWriteDisposition)) == {"skip", "append", "replace", "merge"}
    assert {"TTableSchema", "TSchemaTables", "Schema"} <= set(schema.__all__)
    assert issubclass(LoadClientTerminalException, Exception)
    assert issubclass(LoadClientTransientException, Exception)
    assert [column.name for column in fields(interfaces.StateInfo)] == [
        *("version", "engine_version", "pipeline_name", "state", "created_at", "version_hash"),
        "_dlt_load_id",
    ]
    assert interfaces.StorageSchemaInfo._fields == (
        *("version_hash", "schema_name", "version", "engine_version", "inserted_at", "schema"),
    )
    assert WithStateSync is interfaces.WithStateSync


def test_capabilities_include_formats_lengths_naming_and_escaping() -> None:
    able = interfaces.find_destination("delta").capabilities()

    assert able.preferred_loader_file_format in able.supported_loader_file_formats
    assert able.max_identifier_length == able.max_column_identifier_length == 255
    asked = inspect.signature(interfaces.DestinationCapabilitiesContext).parameters
    assert {"naming_convention", "escape_identifier", "escape_literal", "decimal_precision"} <= set(asked)
    must_answer = {name for name, asking in asked.items() if asking.default is inspect.Parameter.empty}
    assert must_answer == {
        *("supported_write_dispositions", "supported_merge_strategies", "supported_replace_strategies"),
        *("max_identifier_length", "max_column_identifier_length", "has_case_sensitive_identifiers"),
        "spark_needs",
    }


def test_every_sentence_of_the_page_has_a_test() -> None:
    assert_sentences_have_tests(SENTENCES, "name an existing test in SENTENCES")


def test_every_sentence_is_counted() -> None:
    assert len(SENTENCES) == 56
