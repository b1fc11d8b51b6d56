"""Carries packages forward: an extracted one is normalized, a normalized one is sealed and loaded."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import SlotTaken, in_stage
from penstock.interfaces import StateInfo
from penstock.load.abort import undo_commits
from penstock.load.run import finish_committed_load, load
from penstock.normalize.normalized import load_normalized, save_normalized, schema_version
from penstock.normalize.run import normalize
from penstock.normalize.settings import NormalizeConfiguration
from penstock.package import Manifest
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.refresh import (
    dropped_tables,
    tables_truncated_without_rows,
    truncated_tables,
    without_dropped_tables,
    without_history,
)
from penstock.pipeline.restore import schema_after_normalized, with_source_schema
from penstock.pipeline.state import ENGINE_VERSION, encode_state, state_after_package, with_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.load.settings import LoaderConfiguration
    from penstock.normalize.normalized import NormalizedPackage
    from penstock.package import Package
    from penstock.package.lease import Lease
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.workspace import Workspace
    from penstock.schema import Schema


class PackageRunner:
    """What a run does with its packages, for as long as it holds the lease."""

    def __init__(
        self,
        workspace: Workspace,
        lease: Lease,
        load_settings: LoaderConfiguration,
        recorder: Recorder,
        *,
        file_format: str | None = None,
    ) -> None:
        """`file_format` is that of tables which say none."""
        self._workspace, self._lease, self._load_settings, self._recorder = (
            workspace,
            lease,
            load_settings,
            recorder,
        )
        self._table_defaults = {"file_format": file_format} if file_format else {}

    def resume_sealed_load(self) -> bool:
        """Take back what was given up, and finish the sealed load that an earlier run left.

        False where no load was ever sealed here.
        """
        packages = self._workspace.packages
        aborted = packages.pending_abort()
        if aborted is not None:
            manifest, outcome = aborted
            with self._load_stage(manifest.load_id):
                undo_commits(manifest, outcome, self._workspace.load_target(manifest, self._lease))
        sealed = packages.pending_load()
        if sealed is None:
            return bool(packages.slots.last())
        self._recorder.pending_ids.add(sealed.load_id)
        with self._load_stage(sealed.load_id):
            is_committed = self._workspace.is_committed(sealed)
            if is_committed:
                finish_committed_load(
                    sealed, self._workspace.load_target(sealed, self._lease), state=_state_row(sealed)
                )
        if not is_committed:
            self._load(sealed)
        return True

    def normalize(self, package: Package) -> None:
        """Normalize a package and leave it to be loaded; packages before it may wait for that too."""
        with self._recorder.attribute_errors("normalize"), in_stage("normalize", load_id=package.load_id):
            extracted = ExtractManifest.from_dict(package.read_extracted())
            last = self._workspace.snapshot(extracted.schema_name).schema
            known = schema_after_normalized(last, self._workspace.packages, before_load_id=package.load_id)
        self._normalize(package, extracted, known)

    def load(self, package: Package) -> None:
        """Seal a package and load it. What it was normalized to is used where that still fits."""
        with self._load_stage(package.load_id):
            extracted = ExtractManifest.from_dict(package.read_extracted())
            if self._finish_if_loaded(package, extracted):
                return
            known = self._workspace.snapshot(extracted.schema_name)
            before = schema_version(known.schema)
            left = load_normalized(
                package, destination_type=self._workspace.target.destination_type, schema_before=before
            )
        made = left or self._normalize(package, extracted, known.schema)
        with self._load_stage(package.load_id):
            manifest = self._seal(package, extracted, known, made)
        self._load(manifest)

    def _finish_if_loaded(self, package: Package, extracted: ExtractManifest) -> bool:
        """Finish a package that is complete at the destination: a copy of it was loaded before."""
        ledger = self._workspace.ledger
        if ledger.find_commit(schema_name=extracted.schema_name, load_id=package.load_id) is None:
            return False
        self._lease.check()
        self._workspace.packages.finish(package.load_id, retention=self._workspace.run_settings.retention)
        self._recorder.notes.append(f"package {package.load_id} was loaded before and is not loaded again")
        return True

    @contextmanager
    def _load_stage(self, load_id: str) -> Iterator[None]:
        """What breaks in the block has broken the load of a package."""
        with self._recorder.attribute_errors("load"), in_stage("load", load_id=load_id):
            yield

    def _seal(
        self,
        package: Package,
        extracted: ExtractManifest,
        snapshot: PipelineSnapshot,
        normalized: NormalizedPackage,
    ) -> Manifest:
        """Decide what the next load is."""
        dropped = dropped_tables(snapshot.schema, extracted)
        schema = self._workspace.target.schema_files.ensure_import_file(normalized.schema)
        manifest = Manifest(
            load_id=package.load_id,
            sequence=self._workspace.next_sequence(),
            pipeline_name=self._workspace.target.pipeline_name,
            dataset_name=self._workspace.target.dataset_name,
            schema_name=snapshot.schema.name,
            tables=normalized.tables,
            folders=normalized.folders,
            schema_before=schema_version(snapshot.schema),
            schema=dict((without_history(schema) if dropped else schema).to_dict()),
            state=with_version(state_after_package(snapshot.state, extracted)),
            dropped=dropped,
            truncated=truncated_tables(snapshot.schema, extracted),
        )
        self._lease.confirm()
        if not self._workspace.packages.seal(manifest):
            raise SlotTaken(pipeline=manifest.pipeline_name, sequence=manifest.sequence)
        return manifest

    def _normalize(
        self, package: Package, extracted: ExtractManifest, prior_schema: Schema
    ) -> NormalizedPackage:
        able = self._workspace.target.destination.capabilities
        table_format = able.preferred_table_format
        schema = with_source_schema(without_dropped_tables(prior_schema, extracted.refresh), extracted)
        naming = self._workspace.naming(schema)
        with (
            self._recorder.step("normalize"),
            in_stage("normalize", load_id=package.load_id),
            self._workspace.target.collector(f"normalize of {schema.name}") as collector,
            self._workspace.session() as spark,
        ):
            made = normalize(
                package,
                schema,
                spark=spark,
                naming=naming,
                table_extras={"table_format": table_format} if table_format else {},
                table_defaults=self._table_defaults,
                settings=self._workspace.resolve_settings(NormalizeConfiguration, "normalize"),
                merge_strategy=next(iter(able.supported_merge_strategies), None),
                can_alter=self._workspace.target.config.alterable_types,
                collector=collector,
                truncated=tables_truncated_without_rows(prior_schema, extracted, naming),
            )
            before = schema_version(prior_schema)
            self._lease.check()
            save_normalized(
                package, made, destination_type=self._workspace.target.destination_type, schema_before=before
            )
            self._workspace.target.schema_files.export(made.schema)
        if made.report is not None:
            self._recorder.record_normalized(made.report)
        return made

    def _load(self, manifest: Manifest) -> None:
        into = self._workspace.load_target(manifest, self._lease)
        with (
            self._recorder.step("load"),
            in_stage("load", load_id=manifest.load_id),
            into.collector(f"load of {manifest.schema_name}"),
        ):
            report = load(manifest, into, state=_state_row(manifest), load_settings=self._load_settings)
        self._recorder.record_loaded(report)
        if manifest.removed_tables:
            self._recorder.notes.append(f"tables that are no more: {', '.join(manifest.removed_tables)}")


def _state_row(manifest: Manifest) -> StateInfo:
    state: dict[str, Any] = dict(manifest.state)
    return StateInfo(
        version=state["_state_version"],
        engine_version=ENGINE_VERSION,
        pipeline_name=manifest.pipeline_name,
        state=encode_state(state),
        created_at=datetime.fromtimestamp(float(manifest.load_id), UTC),
        version_hash=state["_version_hash"],
        dlt_load_id=manifest.load_id,
    )
