"""One call of `run`, `extract`, `normalize` or `load`, from the lease to the committed load.

A run resumes a sealed load, loads pending packages, extracts, and normalizes, seals and loads each package.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import SlotTaken, in_stage
from penstock.extract.waves.checkpoints import has_waves
from penstock.extract.waves.executors import ExecutorBackend
from penstock.load.run import finish_committed_load, load
from penstock.load.settings import LoaderConfiguration
from penstock.normalize.normalized import load_normalized, save_normalized, schema_version
from penstock.normalize.run import normalize
from penstock.normalize.settings import NormalizeConfiguration
from penstock.package import Manifest
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.trust import require_trust
from penstock.pipeline import load_checks
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.drop import finish_abort
from penstock.pipeline.extraction import Extraction
from penstock.pipeline.last_target import save_last_target
from penstock.pipeline.package_root import check_package_root
from penstock.pipeline.refresh import (
    dropped_tables,
    tables_truncated_without_rows,
    truncated_tables,
    without_dropped_tables,
    without_history,
)
from penstock.pipeline.restore import (
    schema_after_normalized,
    with_destination_naming,
    with_source_schema,
)
from penstock.pipeline.root_cause import raise_root_cause
from penstock.pipeline.state import state_after_package, state_row, with_version
from penstock.pipeline.sync import drop_outdated_packages, sync_local_copies
from penstock.pipeline.undo import create_undo, mark_undo, plan_undo, refuse_if_pending, undo_of
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.interfaces.check import Check
    from penstock.normalize.normalized import NormalizedPackage
    from penstock.package import Package
    from penstock.package.lease import Lease
    from penstock.package.packages import SealedLoad
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.target import Target
    from penstock.pipeline.trace import TPipelineStep
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.pipeline.undo import LoadUndo
    from penstock.schema import Schema

_LOG = logger("penstock.pipeline")


class Execution:
    """One call of a pipeline. Only one at a time holds the lease; another one is refused meanwhile."""

    def __init__(
        self,
        target: Target,
        unbound: UnboundPackages,
        recorder: Recorder,
        *,
        spark: SparkSession | None,
        extract_settings: ExtractConfiguration,
        load_overrides: Mapping[str, Any],
        file_format: str | None = None,
        gates: Sequence[Check] = (),
    ) -> None:
        """`load_overrides` replace settings of `load`; `file_format` is the default of tables."""
        self._target, self._unbound, self._recorder = target, unbound, recorder
        self._workspace = Workspace(target, spark=spark)
        self._packages = self._workspace.packages
        self._extract_settings = extract_settings
        self._load_settings = self._workspace.resolve_settings(LoaderConfiguration, "load").model_copy(
            update=load_overrides
        )
        self._table_defaults = {"file_format": file_format} if file_format else {}
        self._gates, self._last_sequence = gates, 0
        recorder.watch, recorder.package_location = self._workspace.watch, self._packages.store.path("")
        recorder.destination_info = target.displayable_facts(self._workspace.client.displayable_location())

    # --- the calls

    def run(self, flows: Sequence[Flow]) -> None:
        """Load pending packages; if none were pending, or the settings say so, extract and load new data."""
        load_checks.require_conditions(flows)
        self._workspace.set_session_needs(flows)
        with self._lease("load") as lease:  # before extraction, errors are those of pending loads
            last = self._last_sealed_load(lease)
            self._sync_local_copies()
            self._prepare_packages(lease)
            self._resume_sealed_load(last, lease)
            pending, resumable = self._unfinished_packages(lease)
            for package in pending:
                self._normalize_and_load(package, lease)
            if self._recorder.load_reports and self._workspace.run_settings.pending == "exit":
                if flows:
                    self._recorder.record_unextracted_data()
                return
            # Closed at once when a load fails: generators of users are suspended in the middle of their work.
            with closing(self._extraction(lease, resumable).extract(flows)) as packages:
                # With a commit interval a package is loaded before the next one is extracted.
                for package in packages:
                    with load_checks.discard_failed(self._packages, package, lease):
                        self._normalize_and_load(package, lease)
            if not self._recorder.load_reports:
                # This run must not report that nothing was to load if a run that took over has loaded it.
                lease.confirm()
                return
            lease.check()
            last_id = max(package.load_id for package in self._recorder.load_reports)
            remove_old_boundaries(self._packages, lambda: self._workspace.snapshot().state, upto=last_id)

    def extract(self, flows: Sequence[Flow]) -> ExtractInfo:
        """Extract into packages for a later run. Spark is not started for Python rows."""
        load_checks.require_conditions(flows)
        self._record_start()
        self._workspace.set_session_needs(flows)
        try:
            with (
                self._workspace.lease() as lease,
                self._workspace.client,
                self._recorder.step("extract"),
                self._workspace.offer_sessions(),
                raise_root_cause(lease),
            ):
                self._recorder.has_begun_work = True
                check_package_root(self._workspace, record=False)
                # New data builds on the unbound packages, and is loaded after them.
                self._transfer_unbound(lease)
                packages = self._extraction_after_pending(lease).extract(flows)
                load_ids = [package.load_id for package in packages]
        except (KeyboardInterrupt, SystemExit):
            self._workspace.interrupt()
            raise
        finally:
            self._close()
        return self._recorder.extract_info(load_ids)

    def normalize(self) -> None:
        """Normalize extracted packages for a later load."""
        with self._lease("normalize") as lease:
            self._prepare_packages(lease)
            for package in self._packages.with_status("extracted"):
                self._normalize_after_pending(package, lease)

    def load(self) -> None:
        """Load normalized packages; those that are only extracted remain pending."""
        with self._lease("load") as lease:
            last = self._last_sealed_load(lease)
            self._prepare_packages(lease)
            self._resume_sealed_load(last, lease)
            for package in self._packages.with_status("normalized"):
                self._normalize_and_load(package, lease)

    def undo(self, *, load_id: str | None, last: int, force: bool) -> LoadUndo:
        """Undo the last complete loads. An undo that an earlier call left is completed instead."""
        with self._lease("load") as lease:
            sealed = self._last_sealed_load(lease)
            pending = sealed.to_load if sealed else None
            if pending is not None and pending.undo is not None:
                self._resume_sealed_load(sealed, lease)
                return undo_of(pending)
            with self._recorder.attribute_errors("load"):
                refuse_if_pending(pending, self._packages, self._unbound)
                plan = plan_undo(self._workspace, load_id=load_id, last=last)
                plan.undo.raise_if_refused(force=force)
                sequence = self._workspace.next_sequence(self._last_sequence)
                manifest = create_undo(plan, self._workspace, sequence=sequence, overwrites=force)
                self._seal_manifest(manifest, lease)
                mark_undo(plan, manifest, self._workspace, lease)
            self._load_sealed(manifest, lease)
            return undo_of(manifest)

    # --- begin and end

    @contextmanager
    def _lease(self, default_step: TPipelineStep) -> Iterator[Lease]:
        """Hold the lease and the client in a block; an error in it is raised as its root cause.

        Errors between two steps of the block are attributed to `default_step`.
        """
        self._record_start()
        try:
            # Before the lease: a session may be refused.
            self._recorder.start_seconds = self._workspace.open_sessions()
            with self._workspace.lease(on_lost=self._workspace.interrupt) as lease, self._workspace.client:
                self._recorder.has_begun_work, self._recorder.default_step = True, default_step
                try:
                    with raise_root_cause(lease):
                        self._check_package_root()
                        self._note_restored_state()
                        yield lease
                except (KeyboardInterrupt, SystemExit):
                    # Jobs of a load that were allowed to finish have ended; the result of others is not used.
                    self._workspace.interrupt()
                    raise
        finally:
            self._close()

    def _record_start(self) -> None:
        save_last_target(self._target, location=self._recorder.destination_info["location"])
        self._recorder.record_start()

    def _close(self) -> None:
        self._recorder.notes += self._workspace.notes
        self._workspace.close()
        self._recorder.record_end()

    def _check_package_root(self) -> None:
        note = check_package_root(self._workspace, record=True)
        if note is not None:
            self._recorder.notes.append(note)

    def _note_restored_state(self) -> None:
        """Note in the result that state and schemas were restored: this machine had no copy of them."""
        last_commit = None
        if self._target.pipeline.workdir.state() is None:
            last_commit = self._workspace.ledger.last_commit(self._target.pipeline.pipeline_name)
        if last_commit is not None:
            self._recorder.notes.append(
                f"state and schemas are restored from load {last_commit.load_id} at the destination: "
                "this machine had no copies"
            )

    def _sync_local_copies(self) -> None:
        """Update the copies of this machine, if the destination is authoritative."""
        if not self._target.pipeline.restore_from_destination:
            return
        outdated = drop_outdated_packages(self._workspace, self._unbound)
        if outdated:
            self._recorder.notes.append(
                f"packages {', '.join(outdated)} were extracted on this machine and are deleted: the state "
                "at the destination is newer. run.keep_outdated_packages = true keeps such packages"
            )
        try:
            sync_local_copies(self._workspace)
        except OSError as error:
            # The run reads at the destination itself, and reports there that it cannot be reached.
            workdir = self._target.pipeline.workdir
            _LOG.warning("state and schemas are not copied to %s: %s", workdir.path, error)

    # --- pending packages

    def _prepare_packages(self, lease: Lease) -> None:
        """Delete loaded packages that are no longer retained, and transfer unbound ones."""
        self._packages.apply_retention(self._workspace.run_settings.retention)
        self._transfer_unbound(lease)

    def _transfer_unbound(self, lease: Lease) -> None:
        """Transfer packages that were extracted before the destination was known."""
        self._unbound.transfer_to(self._packages, lease=lease, ledger=self._workspace.ledger)

    def _last_sealed_load(self, lease: Lease) -> SealedLoad | None:
        """Return the load after which the next one is sealed, once its abort is complete."""
        with self._recorder.attribute_errors("load"):
            last = finish_abort(self._workspace, lease)
        if last is None:
            # Before the first sealed load ever: the storage must keep its promises.
            require_trust(self._packages.store)
        self._last_sequence = last.manifest.sequence if last else 0
        self._workspace.remember_rows()
        return last

    def _resume_sealed_load(self, last: SealedLoad | None, lease: Lease) -> None:
        """Resume the sealed load that an earlier run left; a load is applied at most once."""
        sealed = last.to_load if last else None
        if sealed is None:
            return
        self._recorder.pending_ids.add(sealed.load_id)
        with self._load_stage(sealed.load_id):
            is_committed = self._workspace.is_committed(sealed)
            if is_committed:
                finish_committed_load(
                    sealed, self._workspace.load_target(sealed, lease), state=state_row(sealed)
                )
        if not is_committed:
            self._load_sealed(sealed, lease)

    def _unfinished_packages(self, lease: Lease) -> tuple[list[Package], list[Package]]:
        """Return the packages to load before new data, and those whose extraction can be continued.

        Other packages whose extraction did not complete are deleted.
        """
        pending, incomplete = self._packages.unfinished_packages()
        self._recorder.pending_ids |= {package.load_id for package in pending}
        resumable = [package for package in incomplete if has_waves(package.store) and not package.is_plan]
        if len(resumable) < len(incomplete):
            lease.confirm()
        for package in incomplete:
            if package not in resumable:
                package.delete()
        return pending, resumable

    # --- extract

    def _extraction(self, lease: Lease, incomplete: Sequence[Package]) -> Extraction:
        """Return the extraction of a run: it builds on the last complete load, and can use executors."""
        return self._make_extraction(
            lease,
            snapshot_of=self._workspace.snapshot,
            incomplete=incomplete,
            step=self._extract_step,
            executors=ExecutorBackend(self._workspace.session, lease.check),
        )

    def _extraction_after_pending(self, lease: Lease) -> Extraction:
        """Return an extraction that builds on the pending packages."""
        return self._make_extraction(lease, snapshot_of=self._workspace.snapshot_after_pending)

    def _make_extraction(self, lease: Lease, **options: Any) -> Extraction:
        capabilities = self._target.destination.capabilities()
        table_formats = () if capabilities.preferred_table_format else capabilities.supported_table_formats
        return Extraction(
            packages=self._packages,
            lease=lease,
            naming=self._workspace.naming,
            settings=self._extract_settings,
            on_report=self._recorder.record_extracted,
            dispositions=frozenset(capabilities.supported_write_dispositions),
            table_formats=frozenset(table_formats) - {"native"},
            collector=self._target.pipeline.collector,
            frame_engine=self._target.pipeline.frame_engine,
            send=self._workspace.row_sender(self._extract_settings),
            **options,
        )

    @contextmanager
    def _extract_step(self) -> Iterator[None]:
        with self._recorder.step("extract"), self._workspace.offer_sessions():
            yield

    # --- normalize, seal and load one package

    def _normalize_and_load(self, package: Package, lease: Lease) -> None:
        """Normalize, seal and load a package. An earlier normalization is used where it is still valid."""
        with self._load_stage(package.load_id):
            extracted = ExtractManifest.from_dict(package.read_extracted())
            if self._finish_if_loaded(package, extracted, lease):
                return
            snapshot = self._workspace.snapshot(extracted.schema_name)
            normalized = load_normalized(
                package,
                destination_type=self._target.destination_type,
                schema_before=schema_version(snapshot.schema),
            )
        if normalized is None:
            normalized = self._normalize(package, extracted, snapshot.schema, lease)
        with self._load_stage(package.load_id):
            load_checks.raise_if_stopped(normalized.checks)
            manifest = self._seal(package, extracted, snapshot, normalized, lease)
        self._load_sealed(manifest, lease)

    def _finish_if_loaded(self, package: Package, extracted: ExtractManifest, lease: Lease) -> bool:
        """Finish a package of which a copy was loaded before; return whether that is so."""
        ledger = self._workspace.ledger
        if ledger.find_commit(schema_name=extracted.schema_name, load_id=package.load_id) is None:
            return False
        lease.check()
        self._packages.finish(package.load_id, retention=self._workspace.run_settings.retention)
        self._recorder.notes.append(f"package {package.load_id} was loaded before and is not loaded again")
        return True

    def _normalize_after_pending(self, package: Package, lease: Lease) -> None:
        """Normalize a package that is loaded after the normalized ones before it."""
        with self._recorder.attribute_errors("normalize"), in_stage("normalize", load_id=package.load_id):
            extracted = ExtractManifest.from_dict(package.read_extracted())
            last_schema = self._workspace.snapshot(extracted.schema_name).schema
            schema = schema_after_normalized(last_schema, self._packages, before_load_id=package.load_id)
        self._normalize(package, extracted, schema, lease)

    def _normalize(
        self, package: Package, extracted: ExtractManifest, prior_schema: Schema, lease: Lease
    ) -> NormalizedPackage:
        capabilities = self._target.destination.capabilities()
        table_format = capabilities.preferred_table_format
        schema = with_source_schema(without_dropped_tables(prior_schema, extracted.refresh), extracted)
        schema = with_destination_naming(schema, capabilities.naming_convention)
        naming = self._workspace.naming(schema)
        with (
            self._recorder.step("normalize", package.load_id),
            in_stage("normalize", load_id=package.load_id),
            self._target.pipeline.collector(f"normalize of {schema.name}") as collector,
            self._workspace.sessions.deferred_session() as spark,
        ):
            normalized = normalize(
                package,
                schema,
                spark=spark,
                naming=naming,
                table_extras={"table_format": table_format} if table_format else {},
                table_defaults=self._table_defaults,
                settings=self._workspace.resolve_settings(NormalizeConfiguration, "normalize"),
                capabilities=capabilities,
                can_alter=self._target.config.alterable_types,
                collector=collector,
                truncated=tables_truncated_without_rows(prior_schema, extracted, naming),
                describe_jobs=self._workspace.watch.describe,
                functions=self._gates,
                earlier_rows=partial(load_checks.earlier_row_counts, self._packages),
            )
            lease.check()
            if normalized.prevents_load and not package.is_plan:
                # Without a result the next call evaluates the checks again.
                self._record_normalized(normalized)
                load_checks.raise_if_stopped(normalized.checks)
            save_normalized(
                package,
                normalized,
                destination_type=self._target.destination_type,
                schema_before=schema_version(prior_schema),
            )
            self._target.pipeline.schema_files.export(normalized.schema)
        self._record_normalized(normalized)
        return normalized

    def _record_normalized(self, normalized: NormalizedPackage) -> None:
        if normalized.report is not None:
            self._recorder.record_normalized(normalized.report)

    def _seal(
        self,
        package: Package,
        extracted: ExtractManifest,
        snapshot: PipelineSnapshot,
        normalized: NormalizedPackage,
        lease: Lease,
    ) -> Manifest:
        """Seal a package: from now on it is the next load, whatever happens to this process."""
        schema = self._target.pipeline.schema_files.ensure_import_file(normalized.schema)
        manifest = self._next_manifest(package, extracted, snapshot, replace(normalized, schema=schema))
        self._seal_manifest(manifest, lease)
        return manifest

    def _seal_manifest(self, manifest: Manifest, lease: Lease) -> None:
        lease.confirm()
        if not self._packages.seal(manifest, after=self._last_sequence):
            raise SlotTaken(pipeline=manifest.pipeline_name, sequence=manifest.sequence)
        self._last_sequence = manifest.sequence

    def _next_manifest(
        self,
        package: Package,
        extracted: ExtractManifest,
        snapshot: PipelineSnapshot,
        normalized: NormalizedPackage,
    ) -> Manifest:
        dropped, schema = dropped_tables(snapshot.schema, extracted), normalized.schema
        return Manifest(
            load_id=package.load_id,
            sequence=self._workspace.next_sequence(self._last_sequence),
            pipeline_name=self._target.pipeline.pipeline_name,
            dataset_name=self._target.pipeline.dataset_name,
            schema_name=snapshot.schema.name,
            tables=normalized.tables,
            folders=normalized.folders,
            schema_before=schema_version(snapshot.schema),
            schema=dict((without_history(schema) if dropped else schema).to_dict()),
            state=with_version(state_after_package(snapshot.state, extracted)),
            dropped=dropped,
            truncated=truncated_tables(snapshot.schema, extracted),
            origins=normalized.origins,
        )

    def _load_sealed(self, manifest: Manifest, lease: Lease) -> None:
        load_target = self._workspace.load_target(manifest, lease)
        with (
            self._recorder.step("load", manifest.load_id),
            in_stage("load", load_id=manifest.load_id),
            load_target.collector(f"load of {manifest.schema_name}"),
        ):
            report = load(manifest, load_target, state=state_row(manifest), load_settings=self._load_settings)
        self._recorder.record_loaded(report)
        if manifest.removed_tables:
            self._recorder.notes.append(f"dropped tables: {', '.join(manifest.removed_tables)}")

    @contextmanager
    def _load_stage(self, load_id: str) -> Iterator[None]:
        """Attribute errors in a block to the load of a package."""
        with self._recorder.attribute_errors("load"), in_stage("load", load_id=load_id):
            yield
