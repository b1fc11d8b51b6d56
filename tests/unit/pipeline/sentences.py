"""The sentences of the reference page of pipelines about behaviour, and the test that shows each."""

from __future__ import annotations

from typing import Final

HERE: Final = "unit/pipeline"
WORKSPACE, DROP, UNBOUND = (f"{HERE}/test_{name}.py" for name in ("workspace", "drop", "unbound_packages"))
INSPECTION, FACTORY = (f"{HERE}/test_{name}.py" for name in ("pipeline_inspection", "factory"))
STATE_CHANGES = f"{HERE}/test_state_changes.py"
PIPELINE, REFRESH, EXECUTION = (f"{HERE}/test_{name}.py" for name in ("pipeline", "refresh", "execution"))
SYNC, GIVEN = f"{HERE}/test_sync.py", "unit/sources/test_flows.py"
FLOW_PAGE, FLOW_REFRESH = "flow/test_pipeline_page.py", "flow/test_refresh.py"
WHOLE, READING = "flow/test_end_to_end.py", "flow/test_reading.py"

_LISTED = "extracted_packages_are_listed_and_change_the_state"
_ANEW = "a_refreshed_table_holds_only_new_rows"
_FORGETS = "a_refresh_deletes_the_state"
_STEPS = "extract_normalize_and_load_have_the_same_result_as_run"
_KEPT = "changes_of_the_state_are_loaded_by_the_next_run"
_CLIENT = "the_destination_client_has_the_stored_schema"
_FLOWS = "each_source_is_a_flow_and_data_without_a_source_is_another"
_SAID = "columns_keys_and_contracts_of_a_run_override_those_of_a_resource"
_HINTS = "hints_of_the_run_apply_to_copies_of_all_resources"

SENTENCES: Final[dict[str, tuple[str, str, str]]] = {
    # Attributes
    "A1": (
        "first run until a load succeeds",
        STATE_CHANGES,
        "packages_of_state_are_loaded_with_local_changes",
    ),
    "A2": ("folder of working folders", PIPELINE, "creating_a_pipeline_writes_nothing"),
    "A3": ("staging is a destination", FACTORY, "packages_are_stored_in_the_staging_bucket"),
    "A4": ("name of the dataset", PIPELINE, "the_dataset_has_the_name_of_the_pipeline_by_default"),
    "A5": (
        "active, given by pipeline()",
        INSPECTION,
        "the_pipeline_created_last_is_active_until_it_is_deactivated",
    ),
    # drop
    "D1": (
        "local state, schemas and working files go",
        FACTORY,
        "drop_deletes_the_working_folder_with_its_packages",
    ),
    "D2": ("a new name", FACTORY, "drop_with_a_name_returns_a_pipeline_with_the_same_arguments"),
    # extract, normalize, load
    "E1": ("prepares data for normalize", EXECUTION, _STEPS),
    "E2": ("needs no destination", UNBOUND, "pyspark_need_not_be_installed"),
    "E3": ("arguments of run", UNBOUND, "an_argument_takes_precedence_over_a_setting"),
    "N1": ("makes packages for load", EXECUTION, _STEPS),
    "N2": ("needs a destination", EXECUTION, "normalizing_and_loading_need_a_destination"),
    "L1": ("loads what normalize prepared", EXECUTION, _STEPS),
    "L2": ("credentials", FACTORY, "credentials_are_those_of_the_destination"),
    # run
    "R1": ("extract, normalize, load", WHOLE, "nested_rows_become_tables_that_can_be_read_back"),
    "R2": ("lists and iterables", GIVEN, "data_without_a_name_needs_one"),
    "R3": ("iterators and generators", GIVEN, _FLOWS),
    "R4": ("resources and lists of them", GIVEN, _FLOWS),
    "R5": ("sources and lists of them", GIVEN, _FLOWS),
    "R6": ("bytes, moments, decimals, uuids", WHOLE, "python_types_are_preserved"),
    "R7": ("synchronizes first", SYNC, "a_run_updates_the_copies_first_unless_restore_is_off"),
    "R8": ("can be disabled", SYNC, "a_run_updates_the_copies_first_unless_restore_is_off"),
    "R9": (
        "finishes what was pending and exits",
        EXECUTION,
        "a_run_that_finds_pending_packages_leaves_new_data_for_the_next_call",
    ),
    "R10": (
        "without pending data, new data is loaded",
        EXECUTION,
        "a_run_that_finds_pending_packages_leaves_new_data_for_the_next_call",
    ),
    "R11": (
        "destination by name or module",
        FACTORY,
        "missing_arguments_are_looked_up_in_the_settings",
    ),
    "R12": (
        "dataset of the call, of the pipeline, or its name",
        PIPELINE,
        "the_dataset_has_the_name_of_the_pipeline_by_default",
    ),
    "R13": ("credentials", FACTORY, "credentials_are_those_of_the_destination"),
    "R14": ("table_name is needed for data without a name", GIVEN, "data_without_a_name_needs_one"),
    "R15": ("table_name over that of functions and resources", GIVEN, _HINTS),
    "R16": ("table_name over all resources of a source", GIVEN, _HINTS),
    "R17": (
        "write dispositions",
        "unit/destinations/lake/test_plan.py",
        "a_replace_truncates_tables_without_rows",
    ),
    "R18": ("disposition as a dict", GIVEN, _SAID),
    "R19": ("disposition over that of resources", GIVEN, _HINTS),
    "R20": ("columns and primary key", GIVEN, _SAID),
    "R21": ("an explicit schema", GIVEN, "a_schema_of_the_run_is_used_by_every_flow_and_not_changed"),
    "R22": ("file formats", FACTORY, "an_unknown_file_format_is_refused_before_spark_starts"),
    "R23": ("schema contract over all tables", GIVEN, _SAID),
    "R24": ("drop_sources: tables and whole state", FLOW_REFRESH, _ANEW),
    "R25": ("drop_resources: tables and resource state", FLOW_REFRESH, _ANEW),
    "R26": ("drop_data: rows and resource state", FLOW_REFRESH, _ANEW),
    "R27": ("source state is not modified by drop_resources", REFRESH, _FORGETS),
    "R28": ("schema history is erased", REFRESH, "dropped_tables_are_inferred_again_without_history"),
    "R29": ("schema is not modified by drop_data", REFRESH, "only_tables_with_rows_are_truncated"),
    "R30": ("PipelineStepFailed", UNBOUND, "incomplete_packages_are_deleted_and_an_error_leaves_none"),
    "R31": (
        "LoadInfo has package ids and failed jobs; a failed job does not raise",
        EXECUTION,
        "a_job_that_fails_for_good_does_not_raise_and_is_reported",
    ),
    # sync_destination
    "S1": ("restores state and schemas", SYNC, "a_fresh_machine_gets_copies_of_state_and_schemas"),
    "S2": (
        "only a state with a higher version",
        SYNC,
        "only_a_state_with_a_higher_version_replaces_the_copy",
    ),
    "S3": (
        "local state and schemas are replaced, intermediate files deleted",
        SYNC,
        "packages_of_this_machine_are_deleted_if_the_destination_has_a_newer_state",
    ),
    "S4": ("a dataset that is gone", SYNC, "the_local_state_is_deleted_with_its_dataset"),
    # activate, deactivate
    "C1": (
        "state for sources outside run",
        EXECUTION,
        "functions_of_sources_read_the_state_of_the_active_pipeline",
    ),
    "C2": (
        "outermost section of settings",
        EXECUTION,
        "settings_of_the_active_pipeline_take_precedence",
    ),
    "C3": ("only one at a time", INSPECTION, "the_pipeline_created_last_is_active_until_it_is_deactivated"),
    "C4": ("made and attached are active", INSPECTION, "attach_returns_a_pipeline_with_its_last_target"),
    "C5": ("run, load and extract activate", EXECUTION, "a_run_makes_its_pipeline_the_active_one"),
    "C6": (
        "deactivate needs an active one",
        INSPECTION,
        "the_pipeline_created_last_is_active_until_it_is_deactivated",
    ),
    "C7": (
        "capabilities for schemas",
        INSPECTION,
        "the_active_pipeline_gives_its_destination_s_names_to_new_schemas",
    ),
    # Inspection
    "K1": ("has_data", INSPECTION, _LISTED),
    "K2": ("has_pending_data", INSPECTION, _LISTED),
    "K3": ("state", INSPECTION, _LISTED),
    "K4": (
        "naming of the default schema",
        INSPECTION,
        "the_active_pipeline_gives_its_destination_s_names_to_new_schemas",
    ),
    "K5": (
        "last trace, from memory or from its place",
        EXECUTION,
        "the_last_trace_is_read_by_another_object",
    ),
    "K6": ("extracted resources", INSPECTION, "extracted_files_are_listed_by_a_deprecated_method"),
    "K7": ("extracted packages", INSPECTION, _LISTED),
    "K8": ("normalized packages", EXECUTION, _STEPS),
    "K9": (
        "completed packages",
        EXECUTION,
        "completed_packages_are_listed_whether_they_are_retained_or_not",
    ),
    "K10": ("info of a package", INSPECTION, _LISTED),
    "K11": ("state of a package", INSPECTION, _LISTED),
    "K12": ("failed jobs", INSPECTION, "failed_jobs_are_listed_with_their_messages"),
    # Operations
    "M1": (
        "drops pending packages, partial ones too",
        DROP,
        "all_pending_packages_are_dropped_and_the_source_is_extracted_again",
    ),
    "M2": ("sync_schema", WORKSPACE, "tables_are_updated_to_a_schema"),
    "M3": ("the default schema if none is named", WORKSPACE, "tables_are_updated_to_a_schema"),
    "M4": ("local values", INSPECTION, "values_of_this_machine_are_stored_only_here"),
    "M5": (
        "are not synchronized",
        "unit/pipeline/test_state.py",
        "local_values_are_not_stored_and_do_not_change_the_hash",
    ),
    "M6": ("sql client", READING, "a_client_queries_and_changes_tables"),
    "M7": ("destination client", WORKSPACE, _CLIENT),
    "M8": ("removes storage", FLOW_PAGE, "after_storage_is_dropped_by_hand_the_next_run_starts_from_scratch"),
    "M9": ("an alternative schema, or one that is made up", WORKSPACE, _CLIENT),
    "M10": ("managed state is kept", STATE_CHANGES, _KEPT),
    "M11": ("or rolled back", STATE_CHANGES, "changes_are_discarded_when_the_block_raises"),
    "M12": ("and can be asked for", STATE_CHANGES, _KEPT),
}
"""A sentence in a few words, the file of the test that shows it, and its name."""
