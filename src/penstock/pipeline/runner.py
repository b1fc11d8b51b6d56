"""One run: finish what is pending, then extract, normalize, seal and load the new data."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import LeaseLost, PenstockError, StorageFull
from penstock.extract.waves.checkpoints import has_waves
from penstock.extract.waves.executors import ExecutorBackend
from penstock.load.settings import LoaderConfiguration
from penstock.package.trust import require_trust
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.extract_step import ExtractStep
from penstock.pipeline.package_runner import PackageRunner
from penstock.pipeline.packageroot import check_package_root
from penstock.pipeline.row_sender import choose_sender
from penstock.pipeline.signals import masked_interrupt
from penstock.pipeline.sync import sync_local_copies
from penstock.pipeline.unbound_packages import UnboundPackages
from penstock.pipeline.workspace import Workspace
from penstock.spark.storage_errors import as_storage_error

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.package import Package
    from penstock.package.lease import Lease
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.target import Target


_LOG = logger("penstock.pipeline")


class Runner:
    """Carries one call of `run`, `extract`, `normalize` or `load` through the stages.

    One at a time for a pipeline: a second one is refused while this one lives.
    """

    def __init__(
        self,
        target: Target,
        recorder: Recorder,
        *,
        spark: SparkSession | None,
        extract_settings: ExtractConfiguration,
        load_overrides: Mapping[str, Any],
        file_format: str | None = None,
    ) -> None:
        """`loading` is said over the settings of the section `load`; `file_format` is for tables without."""
        self._file_format = file_format
        self._workspace, self._extract_settings, self._recorder = (
            Workspace(target, spark=spark),
            extract_settings,
            recorder,
        )
        self._target, self._packages = target, self._workspace.packages
        self._load_settings = self._workspace.resolve_settings(LoaderConfiguration, "load").model_copy(
            update=load_overrides
        )
        recorder.watch, recorder.package_location = self._workspace.watch, self._packages.store.path("")
        recorder.destination_info = {
            "destination_name": target.destination.destination_name,
            "dataset_name": target.dataset_name,
            "location": self._workspace.client.displayable_location(),
        }

    def extract(self, flows: Sequence[Flow]) -> ExtractInfo:
        """Extract, and leave the packages for a later run. Spark is not started for Python rows."""
        self._recorder.record_start()
        self._workspace.set_session_needs(flows)
        try:
            with (
                self._workspace.lease() as lease,
                self._workspace.client,
                self._recorder.step("extract"),
                self._workspace.offer_sessions(),
                _raise_root_cause(lease),
            ):
                self._recorder.has_begun_work = True
                check_package_root(self._workspace, record=False)
                # New data goes on from what waits on this machine too, and stays behind it.
                self._transfer_unbound(lease)
                made = self._extract_step(lease, pending=True).extract(flows, self._recorder.record_extracted)
                ready = [package.load_id for packages in made for package in packages]
        except (KeyboardInterrupt, SystemExit):
            self._workspace.interrupt()
            raise
        finally:
            self._recorder.notes += self._workspace.notes
            self._workspace.close()
        return self._recorder.extract_info(ready)

    def normalize(self) -> None:
        """Normalize what was extracted, and leave it for a later load."""
        self._recorder.default_step = "normalize"
        with self._run_under_lease() as lease:
            forward = self._prepare_packages(lease)
            for package in self._packages.with_status("extracted"):
                forward.normalize(package)

    def load(self) -> None:
        """Load what was normalized. What is only extracted waits on."""
        self._recorder.default_step = "load"
        with self._run_under_lease() as lease:
            forward = self._prepare_packages(lease)
            self._resume_sealed_load(forward)
            for package in self._packages.with_status("normalized"):
                forward.load(package)

    def run(self, flows: Sequence[Flow]) -> None:
        """Pending packages never hide new data: they are finished first, and both are reported."""
        # What is done before new data is asked for is done for loads.
        self._recorder.default_step = "load"
        self._workspace.set_session_needs(flows)
        with self._run_under_lease() as lease:
            self._sync_local_copies()
            forward = self._prepare_packages(lease)
            self._resume_sealed_load(forward)
            # One with waves of work items stays: extraction knows whether it goes on.
            unfinished = [new for new in self._packages.with_status("new") if not has_waves(new.store)]
            if unfinished:
                lease.confirm()
            for package in unfinished:
                package.delete()
            unsealed = [*self._packages.with_status("extracted"), *self._packages.with_status("normalized")]
            self._recorder.pending_ids |= {package.load_id for package in unsealed}
            for package in sorted(unsealed, key=lambda package: package.load_id):
                forward.load(package)
            if self._recorder.load_reports and self._workspace.run_settings.pending == "exit":
                return
            # Closed at once when a load fails: generators of users are in the middle of something.
            with closing(self._extract(flows, lease)) as packages:
                for package in packages:
                    forward.load(package)
            if not self._recorder.load_reports:
                # What a later run has loaded is no news here: this run must not report that there was none.
                lease.confirm()
                return
            lease.check()
            last = max(package.load_id for package in self._recorder.load_reports)
            remove_old_boundaries(self._packages, lambda: self._workspace.snapshot().state, upto=last)

    @contextmanager
    def _run_under_lease(self) -> Iterator[Lease]:
        """The lease and the client, for the time of a block; what breaks says why."""
        self._recorder.record_start()
        try:
            # Before the right to work is asked for: a session may be refused.
            self._workspace.pool  # noqa: B018 - opened when it is asked for
            with self._workspace.lease(on_lost=self._workspace.interrupt) as lease, self._workspace.client:
                self._recorder.has_begun_work = True
                try:
                    with _raise_root_cause(lease):
                        self._check_package_root()
                        self._note_restored_state()
                        yield lease
                except (KeyboardInterrupt, SystemExit):
                    # Jobs of a load that were let finish are over; what is left nobody waits for.
                    self._workspace.interrupt()
                    raise
        finally:
            self._recorder.notes += self._workspace.notes
            self._workspace.close()

    def _sync_local_copies(self) -> None:
        """Bring the copies of this machine up to date, where they are nothing but copies."""
        if not self._target.restore_from_destination:
            return
        try:
            sync_local_copies(self._workspace)
        except OSError as error:
            # The run reads at the destination itself; if that cannot be reached, it is told there.
            _LOG.warning("state and schemas are not copied to %s: %s", self._target.workdir.path, error)

    def _prepare_packages(self, lease: Lease) -> PackageRunner:
        """Tidy up, and bring what waited for the destination."""
        self._packages.apply_retention(self._workspace.run_settings.retention)
        self._transfer_unbound(lease)
        return PackageRunner(
            self._workspace, lease, self._load_settings, self._recorder, file_format=self._file_format
        )

    def _check_package_root(self) -> None:
        note = check_package_root(self._workspace, record=True)
        if note is not None:
            self._recorder.notes.append(note)

    def _note_restored_state(self) -> None:
        """State and schemas are read at the destination by all machines; on a fresh one that is news."""
        last = None
        if self._target.workdir.state() is None:
            last = self._workspace.ledger.last_commit(self._target.pipeline_name)
        if last is not None:
            self._recorder.notes.append(
                "this machine did not know the pipeline: its state and schemas are those of "
                f"load {last.load_id} at the destination"
            )

    def _resume_sealed_load(self, package_runner: PackageRunner) -> None:
        """Finish a sealed load; before the first one ever, see whether the storage can be trusted with it."""
        if not package_runner.resume_sealed_load():
            require_trust(self._packages.store)

    def _extract(self, flows: Sequence[Flow], lease: Lease) -> Generator[Package]:
        """The packages of new data, each when it is ready: loading it and reading on take turns."""
        extracting = self._extract_step(
            lease, pending=False, executors=ExecutorBackend(self._workspace.session, lease.check)
        )
        made = extracting.extract(flows, self._recorder.record_extracted)
        while True:
            with self._recorder.step("extract"), self._workspace.offer_sessions():
                packages = next(made, None)
            if packages is None:
                return
            yield from packages

    def _extract_step(
        self, lease: Lease, *, pending: bool, executors: ExecutorBackend | None = None
    ) -> ExtractStep:
        site, able = self._workspace, self._target.destination.capabilities
        return ExtractStep(
            packages=self._packages,
            snapshot_of=site.snapshot_after_pending if pending else site.snapshot,
            naming=site.naming,
            settings=self._extract_settings,
            lease=lease,
            dispositions=frozenset(able.supported_write_dispositions),
            formats=frozenset(() if able.preferred_table_format else able.supported_table_formats)
            - {"native"},
            collector=self._target.collector,
            executors=executors,
            send=choose_sender(
                self._extract_settings, self._packages.store, site.session, is_remote=site.is_remote
            ),
        )

    def _transfer_unbound(self, lease: Lease) -> None:
        """Bring packages that were extracted before the destination was known."""
        self._unbound_packages().transfer_to(
            self._packages,
            lease=lease,
            ledger=self._workspace.ledger,
            lease_times=self._workspace.run_settings.lease_times,
        )

    def _unbound_packages(self) -> UnboundPackages:
        return UnboundPackages(
            pipeline_name=self._target.pipeline_name,
            workdir=self._target.workdir,
            storage=self._extract_settings.package_storage,
            schema_files=self._target.schema_files,
        )


@contextmanager
def _raise_root_cause(lease: Lease) -> Iterator[None]:
    """Raise the root cause of an error instead, where the error does not name it itself."""
    handled = sys.exception()
    try:
        yield
    except Exception as error:
        cause = masked_interrupt(error, handled=handled) or _root_cause(error, lease)
        if cause is None:
            raise
        raise cause from error


def _root_cause(error: Exception, lease: Lease) -> Exception | None:
    """Return the root cause of an error that does not name it itself; None where it does."""
    # A full disk takes the lease too: its holder cannot write its heartbeats.
    if isinstance(error, LeaseLost | StorageFull):
        return None
    try:
        # A run that took over finishes the same packages: this one fails on what it finds done.
        lease.confirm()
    except LeaseLost as lost:
        return lost
    except OSError:
        _LOG.debug("whether the lease is lost cannot be seen", exc_info=True)
    return None if isinstance(error, PenstockError) else as_storage_error(error)
