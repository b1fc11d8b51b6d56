"""Synchronization of this machine's copies with the destination, and of its tables with a schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from penstock.config import logger
from penstock.errors import UsageError
from penstock.load.plan import schema_update
from penstock.package.typed_json import to_typed
from penstock.pipeline.last_target import save_last_target
from penstock.pipeline.restore import stored_schema, stored_state
from penstock.pipeline.state import decode_state
from penstock.pipeline.workspace import Workspace
from penstock.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline.state import State
    from penstock.pipeline.target import Target
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.schema import TSchemaTables

_LOG = logger("penstock.pipeline")
SyncOutcome = Literal["nothing", "restored", "kept", "forgotten"]
"""Nothing was stored, the copies were replaced, they were current, or they were deleted with the dataset."""


def sync_local_copies(workspace: Workspace) -> SyncOutcome:
    """Copy the state of the last complete load, and its schemas, to the working folder.

    Only a state with a higher version replaces the copy. If the dataset no longer exists, the state of this
    machine is deleted.
    """
    pipeline = workspace.target.pipeline
    outcome, state = _plan_sync(workspace)
    if outcome == "forgotten":
        _LOG.warning("dataset %s no longer exists: the local state is deleted", pipeline.dataset_name)
        pipeline.workdir.delete_state()
    if state is not None:
        save_last_target(workspace.target, location=workspace.client.displayable_location())
        _copy_schemas(workspace, state["schema_names"], replace=outcome == "restored")
    if state is not None and outcome == "restored":
        pipeline.workdir.save_state(to_typed(state))
    return outcome


def drop_outdated_packages(workspace: Workspace, unbound: UnboundPackages) -> list[str]:
    """Delete the packages of the working folder if the destination has a newer state; return their ids.

    They were extracted without a destination, and continue the state of this machine. Called before the
    copies are updated.
    """
    has_packages = unbound.is_local and bool(unbound.packages.unsealed_packages())
    if not has_packages or workspace.run_settings.keep_outdated_packages:
        return []
    stored = stored_state(workspace.ledger, workspace.client, workspace.target.pipeline.pipeline_name)
    version = unbound.state_version()
    if stored is None or stored.version <= version:
        return []
    load_ids = unbound.drop_local()
    _LOG.warning(
        "packages %s, which were extracted here without a destination, are deleted: the state at the "
        "destination has version %d, and here %d (run.keep_outdated_packages keeps them)",
        ", ".join(load_ids),
        stored.version,
        version,
    )
    return load_ids


def _plan_sync(workspace: Workspace) -> tuple[SyncOutcome, State | None]:
    """Return the outcome of a synchronization and the valid state; nothing is written."""
    pipeline = workspace.target.pipeline
    stored = stored_state(workspace.ledger, workspace.client, pipeline.pipeline_name)
    copy = pipeline.workdir.state()
    if copy is not None and copy.get("dataset_name") != pipeline.dataset_name:
        copy = None
    if stored is None:
        has_nothing_to_forget = (
            copy is None or workspace.ledger.is_initialized() or workspace.client.is_storage_initialized()
        )
        return ("nothing" if has_nothing_to_forget else "forgotten"), None
    state = {**decode_state(stored.state), "dataset_name": pipeline.dataset_name}
    if copy is not None and not _is_newer(state, copy):
        return "kept", copy
    return "restored", state


def _is_newer(state: State, copy: State) -> bool:
    if state["_version_hash"] == copy.get("_version_hash"):
        return False
    return bool(state["_state_version"] > copy.get("_state_version", 0))


def _copy_schemas(workspace: Workspace, names: list[str], *, replace: bool) -> None:
    workdir = workspace.target.pipeline.workdir
    for name in names:
        if replace or workdir.schema(name) is None:
            row = stored_schema(workspace.ledger, workspace.target, name)
            if row is not None:
                workdir.save_schema(json.loads(row.schema))


def sync_destination(target: Target, unbound: UnboundPackages, *, spark: SparkSession | None) -> SyncOutcome:
    """Synchronize this machine with a destination. Spark is not started."""
    workspace = Workspace(target, spark=spark)
    with workspace.client:
        drop_outdated_packages(workspace, unbound)
        return sync_local_copies(workspace)


def preview_sync(target: Target) -> SyncOutcome:
    """Return the outcome that `sync_destination` would have (a dry run). Spark is not started."""
    workspace = Workspace(target, spark=None)
    with workspace.client:
        return _plan_sync(workspace)[0]


def sync_schema(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> TSchemaTables:
    """Create the tables and columns of a schema at the destination; return the update that was applied."""
    workspace = Workspace(target, spark=spark)
    try:
        with workspace.lease(), workspace.client:
            schema = workspace.snapshot_after_pending(schema_name).schema
            names = [table.name for table in schema.data_tables()]
            if not names:
                raise UsageError(
                    f"pipeline {target.pipeline.pipeline_name!r} has no tables in schema {schema.name!r}",
                    hint="run the pipeline first, or give it a schema by import_schema_path",
                )
            row = stored_schema(workspace.ledger, target, schema.name)
            stored_tables = Schema.from_dict(json.loads(row.schema)).tables if row else {}
            with workspace.client_session() as session, workspace.open_client(schema, session) as client:
                client.initialize_storage()
                expected = schema_update(stored_tables, schema.tables, names)
                return client.update_stored_schema(names, expected) or {}
    finally:
        workspace.close()
