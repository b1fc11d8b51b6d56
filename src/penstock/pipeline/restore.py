"""What a pipeline knows at the start of a load: read back, so that a fresh machine goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.interfaces import WithStateSync
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.typed_json import from_typed
from penstock.pipeline.refresh import recreated_schema
from penstock.pipeline.state import State, decode_state, new_state, state_after_package
from penstock.pipeline.state_changes import apply_local_changes
from penstock.schema import Schema, StoredSchema
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from penstock.interfaces import JobClientBase, Ledger, StateInfo, StorageSchemaInfo
    from penstock.package import Packages
    from penstock.pipeline.context import PipelineContext
    from penstock.pipeline.target import Target
    from penstock.pipeline.workdir import WorkDir


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSnapshot:
    """The schema and the state after the last complete load."""

    schema: Schema
    state: State
    change_id: str | None = None
    """The change by hand that waited on this machine and is in the state; None where none is."""


def restore(
    ledger: Ledger, client: JobClientBase, target: Target, *, schema_name: str | None = None
) -> PipelineSnapshot:
    """The last complete load's schema and state; new ones where there is none.

    The ledger knows both. Where it knows nothing, because it stood on a machine that is gone, a destination
    that remembers them is asked. Without a `schema_name` the schema is the default one: the first that was
    ever loaded.
    """
    pipeline, destination_type = target.pipeline, target.destination_type
    if not pipeline.restore_from_destination:
        snapshot = local_snapshot(pipeline, schema_name=schema_name, destination_type=destination_type)
        return replace(snapshot, schema=pipeline.schema_files.with_imported_changes(snapshot.schema))
    stored = stored_state(ledger, client, pipeline.pipeline_name)
    if stored is None:
        name = schema_name or pipeline.default_schema_name
        state = _new_state(pipeline, name, destination_type)
    else:
        state = decode_state(stored.state)
        state["dataset_name"] = pipeline.dataset_name
        name = schema_name or state["default_schema_name"]
    row = stored_schema(ledger, target, name)
    schema = Schema.from_dict(json.loads(row.schema)) if row else Schema(name)
    return _with_local_changes(pipeline.schema_files.with_imported_changes(schema), state, pipeline.workdir)


def local_snapshot(
    pipeline: PipelineContext, *, schema_name: str | None = None, destination_type: str = ""
) -> PipelineSnapshot:
    """What this machine keeps of the last load; nothing where that went to another dataset."""
    state = pipeline.workdir.state()
    if state is not None and state.get("dataset_name") == pipeline.dataset_name:
        name = schema_name or state["default_schema_name"]
        stored = pipeline.workdir.schema(name)
        schema = Schema(name) if stored is None else Schema.from_dict(stored)
        return _with_local_changes(schema, from_typed(state), pipeline.workdir)
    name = schema_name or pipeline.default_schema_name
    return _with_local_changes(Schema(name), _new_state(pipeline, name, destination_type), pipeline.workdir)


def _new_state(pipeline: PipelineContext, schema_name: str, destination_type: str) -> State:
    return new_state(
        pipeline_name=pipeline.pipeline_name,
        dataset_name=pipeline.dataset_name,
        schema_name=schema_name,
        destination_type=destination_type,
    )


def _with_local_changes(schema: Schema, state: State, workdir: WorkDir) -> PipelineSnapshot:
    changed, change = apply_local_changes(state, workdir)
    return PipelineSnapshot(schema=schema, state=changed, change_id=change)


def stored_state(ledger: Ledger, client: JobClientBase, pipeline_name: str) -> StateInfo | None:
    """The state of the last complete load, where the ledger or the destination has one."""
    if ledger.is_initialized():
        return ledger.last_state(pipeline_name)
    if isinstance(client, WithStateSync) and client.is_storage_initialized():
        return client.get_stored_state(pipeline_name)
    return None


def stored_schema(ledger: Ledger, target: Target, name: str) -> StorageSchemaInfo | None:
    """The newest version of a schema, where the ledger or the destination has one."""
    if ledger.is_initialized():
        return ledger.last_schema(name)
    with target.client(name) as client:
        if isinstance(client, WithStateSync) and client.is_storage_initialized():
            return client.get_stored_schema()
    return None


def snapshot_after_pending(
    snapshot: PipelineSnapshot, packages: Packages, unbound: Packages | None = None
) -> PipelineSnapshot:
    """What the pipeline will know once all packages are loaded that wait; extraction goes on from there.

    In `room` are those that wait to be carried to the destination.
    """
    sealed = packages.pending_load()
    state, change = snapshot.state, snapshot.change_id
    if sealed is not None:
        state, change = from_typed(thaw(sealed.state)), None
    waiting = [*packages.with_status("extracted"), *packages.with_status("normalized")]
    waiting += unbound.with_status("extracted") if unbound is not None else []
    for package in sorted(waiting, key=lambda package: package.load_id):
        if sealed is None or package.load_id != sealed.load_id:
            extracted = ExtractManifest.from_dict(package.read_extracted())
            state = from_typed(state_after_package(state, extracted))
            if extracted.state is not None and extracted.change_id != change:
                change = None
    return PipelineSnapshot(
        schema=schema_after_normalized(snapshot.schema, packages), state=state, change_id=change
    )


def schema_after_normalized(
    schema: Schema, packages: Packages, *, before_load_id: str | None = None
) -> Schema:
    """The schema once the packages are loaded that are normalized, and older than one."""
    older = [
        one
        for one in packages.with_status("normalized")
        if before_load_id is None or one.load_id < before_load_id
    ]
    made = (Schema.from_dict(one.normalized_schema()) for one in reversed(older))
    return next((one for one in made if one.name == schema.name), schema)


def with_source_schema(schema: Schema, extracted: ExtractManifest) -> Schema:
    """The schema with what the source says of it: its contract, its nesting, and, at first, its tables."""
    if extracted.schema is None:
        return schema
    brought = StoredSchema.from_dict(thaw(extracted.schema))
    taken = schema.clone()
    if schema.is_new:
        taken.update(brought)
        return taken
    if extracted.refresh is not None and extracted.refresh.mode == "drop_sources":
        return recreated_schema(schema, brought)
    stored = taken.stored
    said = {key: value for key, value in brought.settings.items() if key == "schema_contract"}
    json_said = {**stored.normalizers.get("json", {}), **brought.normalizers.get("json", {})}
    taken.update(stored.with_settings(**said).with_normalizers(json=json_said))
    return taken
