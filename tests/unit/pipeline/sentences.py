"""What the reference page of pipelines says of behaviour, and for each sentence the test that shows it."""

from __future__ import annotations

from typing import Final

HERE: Final = "unit/pipeline"
CLIENTS, DROPPING, EXTRACT = (f"{HERE}/test_{name}.py" for name in ("clients", "dropping", "extract"))
KNOWING, MAKING, MANAGING = (f"{HERE}/test_{name}.py" for name in ("knowing", "making", "managing"))
PIPELINE, REFRESHING, RUNNING = (f"{HERE}/test_{name}.py" for name in ("pipeline", "refreshing", "running"))
SYNCING, GIVEN = f"{HERE}/test_syncing.py", "unit/sources/test_given.py"
FLOW_PAGE, FLOW_REFRESH = "flow/test_pipeline_page.py", "flow/test_refresh.py"
WHOLE, READING = "flow/test_end_to_end.py", "flow/test_reading.py"

_LISTED = "what_was_extracted_is_listed_and_remembered"
_ANEW = "a_refreshed_table_holds_only_new_rows"
_FORGETS = "what_begins_anew_remembers_nothing"
_STEPS = "steps_one_by_one_come_to_the_same_as_a_run"
_KEPT = "changes_are_there_for_the_next_run"
_CLIENT = "a_client_is_one_of_the_destination_for_the_schema_that_is_known"
_FLOWS = "sources_are_flows_and_all_that_came_without_one_is_another"
_SAID = "what_a_run_says_of_columns_keys_and_contracts_counts_over_what_a_resource_says"
_HINTS = "hints_of_the_run_count_for_all_and_change_nobody_elses_resource"

SENTENCES: Final[dict[str, tuple[str, str, str]]] = {
    # Attributes
    "A1": (
        "first run until a load succeeds",
        MANAGING,
        "packages_of_state_are_loaded_and_what_this_machine_kept_is_taken_along",
    ),
    "A2": ("folder of working folders", PIPELINE, "making_a_pipeline_writes_nothing"),
    "A3": ("staging is a destination", MAKING, "packages_are_kept_in_the_bucket_of_staging"),
    "A4": ("name of the dataset", PIPELINE, "the_dataset_is_called_like_the_pipeline_unless_named"),
    "A5": ("active, given by pipeline()", KNOWING, "the_last_one_made_is_active_until_it_is_not"),
    # drop
    "D1": ("local state, schemas and working files go", MAKING, "drop_leaves_packages_and_lets_all_else_go"),
    "D2": ("a new name", MAKING, "drop_gives_a_pipeline_with_another_name_that_is_made_alike"),
    # extract, normalize, load
    "E1": ("prepares data for normalize", RUNNING, _STEPS),
    "E2": ("needs no destination", EXTRACT, "pyspark_need_not_be_installed"),
    "E3": ("arguments of run", EXTRACT, "an_argument_goes_over_a_setting"),
    "N1": ("makes packages for load", RUNNING, _STEPS),
    "N2": ("needs a destination", RUNNING, "normalizing_and_loading_need_a_destination"),
    "L1": ("loads what normalize prepared", RUNNING, _STEPS),
    "L2": ("credentials", MAKING, "credentials_are_those_of_the_destination"),
    # run
    "R1": ("extract, normalize, load", WHOLE, "nested_rows_become_tables_that_can_be_read_back"),
    "R2": ("lists and iterables", GIVEN, "data_without_a_name_needs_one"),
    "R3": ("iterators and generators", GIVEN, _FLOWS),
    "R4": ("resources and lists of them", GIVEN, _FLOWS),
    "R5": ("sources and lists of them", GIVEN, _FLOWS),
    "R6": ("bytes, moments, decimals, uuids", WHOLE, "python_types_are_preserved"),
    "R7": ("synchronizes first", SYNCING, "a_run_brings_copies_up_to_date_first_unless_it_is_told_not_to"),
    "R8": ("can be disabled", SYNCING, "a_run_brings_copies_up_to_date_first_unless_it_is_told_not_to"),
    "R9": (
        "finishes what was pending and exits",
        RUNNING,
        "a_run_can_be_told_to_leave_new_data_for_the_next_call",
    ),
    "R10": (
        "without pending data, new data is loaded",
        RUNNING,
        "a_run_goes_on_with_its_data_after_what_waited",
    ),
    "R11": (
        "destination by name or module",
        MAKING,
        "arguments_that_are_not_given_are_looked_for_in_the_settings",
    ),
    "R12": (
        "dataset of the call, of the pipeline, or its name",
        PIPELINE,
        "the_dataset_is_called_like_the_pipeline_unless_named",
    ),
    "R13": ("credentials", MAKING, "credentials_are_those_of_the_destination"),
    "R14": ("table_name is needed for data without a name", GIVEN, "data_without_a_name_needs_one"),
    "R15": ("table_name over that of functions and resources", GIVEN, _HINTS),
    "R16": ("table_name over all resources of a source", GIVEN, _HINTS),
    "R17": (
        "write dispositions",
        "unit/destinations/lake/test_plan.py",
        "a_replace_empties_the_tables_that_get_no_rows",
    ),
    "R18": ("disposition as a dict", GIVEN, _SAID),
    "R19": ("disposition over that of resources", GIVEN, _HINTS),
    "R20": ("columns and primary key", GIVEN, _SAID),
    "R21": ("an explicit schema", GIVEN, "a_schema_of_the_run_is_that_of_every_flow_and_stays_as_it_is"),
    "R22": ("file formats", MAKING, "a_file_format_that_nobody_has_is_refused_before_spark_starts"),
    "R23": ("schema contract over all tables", GIVEN, _SAID),
    "R24": ("drop_sources: tables and whole state", FLOW_REFRESH, _ANEW),
    "R25": ("drop_resources: tables and resource state", FLOW_REFRESH, _ANEW),
    "R26": ("drop_data: rows and resource state", FLOW_REFRESH, _ANEW),
    "R27": ("source state is not modified by drop_resources", REFRESHING, _FORGETS),
    "R28": ("schema history is erased", REFRESHING, "what_comes_is_learned_anew_and_the_history_goes"),
    "R29": ("schema is not modified by drop_data", REFRESHING, "only_tables_that_have_rows_lose_them"),
    "R30": ("PipelineStepFailed", EXTRACT, "what_a_crash_left_goes_and_nothing_waits_after_an_error"),
    "R31": (
        "LoadInfo has package ids and failed jobs",
        "unit/load/test_report.py",
        "what_was_left_out_is_told_and_can_be_raised",
    ),
    # sync_destination
    "S1": ("restores state and schemas", SYNCING, "a_fresh_machine_gets_copies_of_state_and_schemas"),
    "S2": (
        "only a state that is not older",
        SYNCING,
        "a_newer_state_replaces_the_copy_and_an_older_one_does_not",
    ),
    "S3": (
        "local state and schemas are replaced",
        SYNCING,
        "a_newer_state_replaces_the_copy_and_an_older_one_does_not",
    ),
    "S4": ("a dataset that is gone", SYNCING, "copies_go_with_their_dataset_and_packages_stay"),
    # activate, deactivate
    "C1": (
        "state for sources outside run",
        RUNNING,
        "functions_of_sources_find_the_state_of_the_active_pipeline",
    ),
    "C2": (
        "outermost section of settings",
        RUNNING,
        "settings_of_the_active_pipeline_count_before_all_others",
    ),
    "C3": ("only one at a time", KNOWING, "the_last_one_made_is_active_until_it_is_not"),
    "C4": ("made and attached are active", KNOWING, "one_that_ran_here_is_attached_to_with_what_it_had"),
    "C5": ("run, load and extract activate", RUNNING, "a_run_makes_its_pipeline_the_active_one"),
    "C6": ("deactivate needs an active one", KNOWING, "the_last_one_made_is_active_until_it_is_not"),
    # What it tells
    "K1": ("has_data", KNOWING, _LISTED),
    "K2": ("has_pending_data", KNOWING, _LISTED),
    "K3": ("state", KNOWING, _LISTED),
    "K4": ("naming of the default schema", KNOWING, "a_pipeline_that_has_not_run_has_a_schema_with_its_name"),
    "K5": (
        "last trace, from memory or from its place",
        RUNNING,
        "the_last_trace_is_found_again_by_another_object",
    ),
    "K6": ("extracted resources", KNOWING, _LISTED),
    "K7": ("extracted packages", KNOWING, _LISTED),
    "K8": ("normalized packages", RUNNING, _STEPS),
    "K9": ("completed packages", RUNNING, _STEPS),
    "K10": ("info of a package", KNOWING, _LISTED),
    "K11": ("state of a package", KNOWING, _LISTED),
    "K12": ("failed jobs", KNOWING, "a_job_that_failed_is_listed_with_its_message"),
    # What it does
    "M1": (
        "drops pending packages, partial ones too",
        DROPPING,
        "what_waits_here_and_at_the_destination_is_dropped_and_the_source_is_asked_again",
    ),
    "M2": ("sync_schema", CLIENTS, "tables_are_brought_up_to_a_schema"),
    "M3": ("the default schema if none is named", CLIENTS, "tables_are_brought_up_to_a_schema"),
    "M4": ("local values", KNOWING, "values_of_this_machine_are_kept_and_stay_here"),
    "M5": (
        "are not synchronized",
        "unit/pipeline/test_state.py",
        "local_values_stay_behind_and_do_not_count_as_a_change",
    ),
    "M6": ("sql client", READING, "a_client_queries_and_changes_tables"),
    "M7": ("destination client", CLIENTS, _CLIENT),
    "M8": ("removes storage", FLOW_PAGE, "after_storage_is_dropped_by_hand_the_next_run_starts_from_scratch"),
    "M9": ("an alternative schema, or one that is made up", CLIENTS, _CLIENT),
    "M10": ("managed state is kept", MANAGING, _KEPT),
    "M11": ("or rolled back", MANAGING, "nothing_is_kept_when_the_block_raises"),
    "M12": ("and can be asked for", MANAGING, _KEPT),
}
"""What is said, in a few words, the file of the test that shows it, and its name."""
