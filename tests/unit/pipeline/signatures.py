"""The reference page of pipelines: every attribute, property and method, with its arguments.

Arguments are written as in a Python signature, without types. `ConfigValue` is the default for arguments that
are looked up in the settings.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

import penstock

METHODS: Final = {
    "__init__": """
        pipeline_name, pipelines_dir, pipeline_salt, destination, staging, dataset_name, import_schema_path,
        export_schema_path, dev_mode, progress, must_attach_to_local_pipeline, config, runtime, refresh=None
    """,
    "drop": "pipeline_name=None",
    "extract": """
        data, *, table_name=None, parent_table_name=None, write_disposition=None, columns=None,
        primary_key=None, schema=None, max_parallel_items=ConfigValue, workers=ConfigValue,
        schema_contract=None, refresh=None
    """,
    "normalize": "workers=1, loader_file_format=None",
    "load": """
        destination=None, dataset_name=None, credentials=None, *, workers=20, raise_on_failed_jobs=False
    """,
    "run": """
        data=None, *, destination=None, staging=None, dataset_name=None, credentials=None, table_name=None,
        write_disposition=None, columns=None, primary_key=None, schema=None, loader_file_format=None,
        schema_contract=None, refresh=None
    """,
    "sync_destination": "destination=None, staging=None, dataset_name=None",
    "activate": "",
    "deactivate": "",
    "list_extracted_resources": "",
    "list_extracted_load_packages": "",
    "list_normalized_load_packages": "",
    "list_completed_load_packages": "",
    "get_load_package_info": "load_id",
    "get_load_package_state": "load_id",
    "list_failed_jobs_in_package": "load_id",
    "drop_pending_packages": "with_partial_loads=True",
    "sync_schema": "schema_name=None",
    "set_local_state_val": "key, value",
    "get_local_state_val": "key",
    "sql_client": "schema_name=None",
    "destination_client": "schema_name=None",
    "managed_state": "*, extract_state=False",
}

PROPERTIES: Final = ("has_data", "has_pending_data", "state", "naming", "last_trace")

ATTRIBUTES: Final = (
    "pipeline_name",
    "first_run",
    "pipelines_dir",
    "working_dir",
    "staging",
    "dataset_name",
    "is_active",
)

# The page speaks of these functions and does not show them: their arguments are those of dlt 1.31.
FUNCTIONS: Final = {
    "pipeline": """
        pipeline_name=None, pipelines_dir=None, pipeline_salt=None, destination=None, staging=None,
        dataset_name=None, import_schema_path=None, export_schema_path=None, full_refresh=None,
        dev_mode=False, refresh=None, progress=None
    """,
    "attach": """
        pipeline_name=None, pipelines_dir=None, pipeline_salt=None, destination=None, staging=None,
        progress=None, dataset_name=None
    """,
    "run": """
        data, *, destination=None, staging=None, dataset_name=None, table_name=None, write_disposition=None,
        columns=None, schema=None, loader_file_format=None, table_format=None, schema_contract=None,
        refresh=None
    """,
}


def parameters_of(text: str) -> list[inspect.Parameter]:
    """Return the parameters in a signature of the page."""
    namespace: dict[str, Any] = {"ConfigValue": penstock.config.value}
    exec(f"def function({text.strip()}): ...", namespace)
    return list(inspect.signature(namespace["function"]).parameters.values())
