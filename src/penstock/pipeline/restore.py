"""Schema and state of a pipeline, restored from its destination or from this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from penstock.interfaces import WithLedger, WithStateSync
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.typed_json import from_typed
from penstock.pipeline.refresh import recreated_schema
from penstock.pipeline.state import State, decode_state, new_state, state_after_package
from penstock.pipeline.state_changes import apply_local_changes
from penstock.schema import Schema, StoredSchema
from penstock.schema.defaults import DEFAULT_NORMALIZERS
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from penstock.interfaces import JobClientBase, Ledger, StateInfo, StorageSchemaInfo
    from penstock.package import Packages
    from penstock.pipeline.context import PipelineContext
    from penstock.pipeline.target import Target
    from penstock.pipeline.workdir import WorkDir

_DEFAULT_NAMES: Final = DEFAULT_NORMALIZERS["names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSnapshot:
    """A schema and the state of a pipeline at one moment."""

    schema: Schema
    state: State
    change_id: str | None = None
    """The id of the local change that is applied to the state; None if none is."""


def restore(
    ledger: Ledger, client: JobClientBase, target: Target, *, schema_name: str | None = None
) -> PipelineSnapshot:
    """Return schema and state after the last complete load; new ones where no load is complete.

    Both are read from the ledger. If it is empty, because it was on a machine that no longer exists, they are
    read from a destination that stores them. Without a `schema_name` the schema is the default one: the first
    that was ever loaded.
    """
    pipeline = target.pipeline
    if not pipeline.restore_from_destination:
        snapshot = local_snapshot(pipeline, schema_name=schema_name, target=target)
        return replace(snapshot, schema=pipeline.schema_files.with_imported_changes(snapshot.schema))
    stored = stored_state(ledger, client, pipeline.pipeline_name)
    if stored is None:
        name = schema_name or pipeline.default_schema_name
        state = new_pipeline_state(pipeline, name, target)
    else:
        state = decode_state(stored.state)
        state["dataset_name"] = pipeline.dataset_name
        name = schema_name or state["default_schema_name"]
    row = stored_schema(ledger, target, name)
    schema = Schema.from_dict(json.loads(row.schema)) if row else Schema(name)
    return _with_local_changes(pipeline.schema_files.with_imported_changes(schema), state, pipeline.workdir)


def local_snapshot(
    pipeline: PipelineContext, *, schema_name: str | None = None, target: Target | None = None
) -> PipelineSnapshot:
    """Return this machine's copy of schema and state; new ones if it is of another dataset."""
    state = pipeline.workdir.state()
    if state is not None and state.get("dataset_name") == pipeline.dataset_name:
        name = schema_name or state["default_schema_name"]
        stored = pipeline.workdir.schema(name)
        schema = Schema(name) if stored is None else Schema.from_dict(stored)
        return _with_local_changes(schema, from_typed(state), pipeline.workdir)
    name = schema_name or pipeline.default_schema_name
    return _with_local_changes(Schema(name), new_pipeline_state(pipeline, name, target), pipeline.workdir)


def new_pipeline_state(pipeline: PipelineContext, schema_name: str, target: Target | None) -> State:
    """Return the state of a pipeline before its first load."""
    return new_state(
        pipeline_name=pipeline.pipeline_name,
        dataset_name=pipeline.dataset_name,
        schema_name=schema_name,
        destination_type=target.destination_type if target else "",
        destination_name=target.destination.configured_name if target else None,
    )


def _with_local_changes(schema: Schema, state: State, workdir: WorkDir) -> PipelineSnapshot:
    state, change_id = apply_local_changes(state, workdir)
    return PipelineSnapshot(schema=schema, state=state, change_id=change_id)


def stored_state(ledger: Ledger, client: JobClientBase, pipeline_name: str) -> StateInfo | None:
    """Return the state of the last complete load; None if neither ledger nor destination has one."""
    state = ledger.last_state(pipeline_name)
    # A destination with a ledger stores no other state.
    if state is not None or isinstance(client, WithLedger) or ledger.is_initialized():
        return state
    if isinstance(client, WithStateSync) and client.is_storage_initialized():
        return client.get_stored_state(pipeline_name)
    return None


def stored_schema(ledger: Ledger, target: Target, name: str) -> StorageSchemaInfo | None:
    """Return the newest version of a schema; None if neither ledger nor destination has one."""
    if ledger.is_initialized():
        return ledger.last_schema(name)
    with target.client(name) as client:
        if (
            isinstance(client, WithStateSync)
            and not isinstance(client, WithLedger)
            and client.is_storage_initialized()
        ):
            return client.get_stored_schema()
    return None


def snapshot_after_pending(
    snapshot: PipelineSnapshot, packages: Packages, unbound: Packages | None = None
) -> PipelineSnapshot:
    """Return schema and state as they will be once all pending packages are loaded.

    `unbound` are packages that are still to be transferred to the destination.
    """
    sealed = packages.pending_load()
    state, change_id = snapshot.state, snapshot.change_id
    if sealed is not None:
        state, change_id = from_typed(thaw(sealed.state)), None
    pending = packages.pending_packages()
    pending += unbound.with_status("extracted") if unbound is not None else []
    for package in sorted(pending, key=lambda package: package.load_id):
        if sealed is None or package.load_id != sealed.load_id:
            extracted = ExtractManifest.from_dict(package.read_extracted())
            state = from_typed(state_after_package(state, extracted))
            if extracted.state is not None and extracted.change_id != change_id:
                change_id = None
    return PipelineSnapshot(
        schema=schema_after_normalized(snapshot.schema, packages), state=state, change_id=change_id
    )


def schema_after_normalized(
    schema: Schema, packages: Packages, *, before_load_id: str | None = None
) -> Schema:
    """Return the schema as it will be once the normalized packages, or those before one, are loaded."""
    earlier = [
        package
        for package in packages.with_status("normalized")
        if before_load_id is None or package.load_id < before_load_id
    ]
    schemas = (Schema.from_dict(package.normalized_schema()) for package in reversed(earlier))
    return next((normalized for normalized in schemas if normalized.name == schema.name), schema)


def with_destination_naming(schema: Schema, convention: str | None) -> Schema:
    """Return the schema with the naming convention of the destination, if it is new and has the default one.

    >>> with_destination_naming(Schema("shop"), "sql_cs_v1").naming.name
    'sql_cs_v1'
    """
    if convention is None or not schema.is_new or schema.stored.normalizers["names"] != _DEFAULT_NAMES:
        return schema
    named = schema.clone()
    named.update(schema.stored.with_normalizers(names=convention))
    return named


def with_source_schema(schema: Schema, extracted: ExtractManifest) -> Schema:
    """Return the schema with the contract and nesting of its source; a new one with its tables too."""
    if extracted.schema is None:
        return schema
    source_schema = StoredSchema.from_dict(thaw(extracted.schema))
    updated = schema.clone()
    if schema.is_new:
        updated.update(source_schema)
        return updated
    if extracted.refresh is not None and extracted.refresh.mode == "drop_sources":
        return recreated_schema(schema, source_schema)
    stored = updated.stored
    contract = {key: value for key, value in source_schema.settings.items() if key == "schema_contract"}
    nesting = {**stored.normalizers.get("json", {}), **source_schema.normalizers.get("json", {})}
    updated.update(stored.with_settings(**contract).with_normalizers(json=nesting))
    return updated
