"""Copies of what the destination knows are brought up to date on this machine."""

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
    from penstock.schema import TSchemaTables

_LOG = logger("penstock.pipeline")
SyncOutcome = Literal["nothing", "restored", "kept", "forgotten"]
"""What came of it: there was nothing to copy, copies were made, they are as good, or they were let go."""


def sync_local_copies(workspace: Workspace) -> SyncOutcome:
    """Copy the state of the last complete load, and the schemas that it names, to the working folder.

    A copy that is newer stays. Where the dataset is gone the copies go. No package is deleted, and nothing
    that this machine alone knows.
    """
    target, workdir = workspace.target, workspace.target.workdir
    outcome, state = _plan_sync(workspace)
    if outcome == "forgotten":
        _LOG.warning("dataset %s is gone, and the copy of its state with it", target.dataset_name)
        workdir.delete_copies()
    if state is not None:
        save_last_target(target, location=workspace.client.displayable_location())
        new = outcome == "restored"
        _copy_schemas(workspace, [one for one in state["schema_names"] if new or workdir.schema(one) is None])
    if state is not None and outcome == "restored":
        workdir.save_state(to_typed(state))
    return outcome


def _plan_sync(workspace: Workspace) -> tuple[SyncOutcome, State | None]:
    """What is to be done, and the state that counts then; nothing is written."""
    target = workspace.target
    found, copy = (
        stored_state(workspace.ledger, workspace.client, target.pipeline_name),
        target.workdir.state(),
    )
    own = copy if copy is not None and copy.get("dataset_name") == target.dataset_name else None
    if found is None:
        there = own is None or workspace.ledger.is_initialized() or workspace.client.is_storage_initialized()
        return ("nothing" if there else "forgotten"), None
    state = {**decode_state(found.state), "dataset_name": target.dataset_name}
    if own is not None and not _is_newer(state, own):
        return "kept", own
    return "restored", state


def _is_newer(state: State, copy: State) -> bool:
    if state["_version_hash"] == copy.get("_version_hash"):
        return False
    return bool(state["_state_version"] >= copy.get("_state_version", 0))


def _copy_schemas(workspace: Workspace, names: list[str]) -> None:
    for name in names:
        row = stored_schema(workspace.ledger, workspace.target, name)
        if row is not None:
            workspace.target.workdir.save_schema(json.loads(row.schema))


def sync_destination(target: Target, *, spark: SparkSession | None) -> SyncOutcome:
    """The same, for who has no site yet. Spark is not started."""
    site = Workspace(target, spark=spark)
    with site.client:
        return sync_local_copies(site)


def preview_sync(target: Target) -> SyncOutcome:
    """What `sync_destination` would come to, for who must ask first. Spark is not started."""
    site = Workspace(target, spark=None)
    with site.client:
        return _plan_sync(site)[0]


def sync_schema(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> TSchemaTables:
    """Bring the tables at the destination up to a schema; gives what was changed."""
    site = Workspace(target, spark=spark)
    try:
        with site.lease(), site.client:
            schema = site.snapshot_after_pending(schema_name).schema
            names = [table.name for table in schema.data_tables()]
            if not names:
                raise UsageError(
                    f"pipeline {target.pipeline_name!r} has no tables in schema {schema.name!r}",
                    hint="run the pipeline first, or give it a schema by import_schema_path",
                )
            row = stored_schema(site.ledger, target, schema.name)
            before = Schema.from_dict(json.loads(row.schema)).tables if row else {}
            with site.session() as session, site.open_client(schema, session) as client:
                client.initialize_storage()
                update = schema_update(before, schema.tables, names)
                return client.update_stored_schema(names, update) or {}
    finally:
        site.close()
