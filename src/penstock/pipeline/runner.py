"""One run: finish what is pending, then extract, normalize, seal and load the new data."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import LeaseLost, PenstockError
from penstock.extract.waves.elsewhere import Elsewhere
from penstock.extract.waves.ledger import has_waves
from penstock.load.settings import LoaderConfiguration
from penstock.package.trust import require_trust
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.extracting import Extracting
from penstock.pipeline.forward import Forward
from penstock.pipeline.sending import sender
from penstock.pipeline.site import Site
from penstock.pipeline.syncing import sync
from penstock.pipeline.waiting import WaitingRoom
from penstock.spark.faults import storage_fault

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.package import Package
    from penstock.package.lease import Lease
    from penstock.pipeline.recording import Recorder
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
        extraction: ExtractConfiguration,
        loading: Mapping[str, Any],
        file_format: str | None = None,
    ) -> None:
        """`loading` is said over the settings of the section `load`; `file_format` is for tables without."""
        self._file_format = file_format
        self._site, self._extraction, self._recorder = Site(target, spark=spark), extraction, recorder
        self._target, self._packages = target, self._site.packages
        self._rules = self._site.settings(LoaderConfiguration, "load").model_copy(update=loading)
        recorder.watch, recorder.packages_at = self._site.watch, self._packages.store.path("")
        recorder.place = {
            "destination_name": target.destination.destination_name,
            "dataset_name": target.dataset_name,
            "location": self._site.client.displayable_location(),
        }

    def extract(self, flows: Sequence[Flow]) -> ExtractInfo:
        """Extract, and leave the packages for a later run. Spark is not started for Python rows."""
        self._recorder.is_tried = True
        self._site.need(flows)
        try:
            with (
                self._site.lease() as lease,
                self._site.client,
                self._recorder.step("extract"),
                self._site.reading(),
            ):
                self._recorder.is_begun = True
                # New data goes on from what waits on this machine too, and stays behind it.
                self._waiting_room().carry_to(self._packages, times=self._site.habits.lease_times)
                made = self._extracting(lease, pending=True).extract(flows, self._recorder.hear_extracted)
                ready = [package.load_id for packages in made for package in packages]
        finally:
            self._site.close()
        return self._recorder.extract_info(ready)

    def normalize(self) -> None:
        """Normalize what was extracted, and leave it for a later load."""
        self._recorder.called = "normalize"
        with self._working() as lease:
            forward = self._arrive(lease)
            for package in self._packages.with_status("extracted"):
                forward.normalize(package)

    def load(self) -> None:
        """Load what was normalized. What is only extracted waits on."""
        self._recorder.called = "load"
        with self._working() as lease:
            forward = self._arrive(lease)
            self._begin(forward)
            for package in self._packages.with_status("normalized"):
                forward.load(package)

    def run(self, flows: Sequence[Flow]) -> None:
        """Pending packages never hide new data: they are finished first, and both are reported."""
        # What is done before new data is asked for is done for loads.
        self._recorder.called = "load"
        self._site.need(flows)
        with self._working() as lease:
            self._copy_what_is_stored()
            forward = self._arrive(lease)
            self._begin(forward)
            for package in self._packages.with_status("new"):
                # One with waves of work items stays: extraction knows whether it goes on.
                if not has_waves(package.store):
                    package.delete()
            unsealed = [*self._packages.with_status("extracted"), *self._packages.with_status("normalized")]
            self._recorder.pending |= {package.load_id for package in unsealed}
            for package in sorted(unsealed, key=lambda package: package.load_id):
                forward.load(package)
            if self._recorder.loaded and self._site.habits.pending == "exit":
                return
            # Closed at once when a load fails: generators of users are in the middle of something.
            with closing(self._extract(flows, lease)) as packages:
                for package in packages:
                    forward.load(package)
            lease.check()
            remove_old_boundaries(self._packages, self._site.known().state)

    @contextmanager
    def _working(self) -> Iterator[Lease]:
        """The lease and the client, for the time of a block; what breaks says why."""
        self._recorder.is_tried = True
        try:
            # Before the right to work is asked for: a session may be refused.
            self._site.pool  # noqa: B018 - opened when it is asked for
            with self._site.lease(on_lost=self._site.interrupt) as lease, self._site.client:
                self._recorder.is_begun = True
                try:
                    self._say_where_it_goes_on()
                    yield lease
                except Exception as error:
                    cause = _cause(error, lease)
                    if cause is None:
                        raise
                    raise cause from error
                except (KeyboardInterrupt, SystemExit):
                    # Jobs of a load that were let finish are over; what is left nobody waits for.
                    self._site.interrupt()
                    raise
        finally:
            self._recorder.notes += self._site.notes
            self._site.close()

    def _copy_what_is_stored(self) -> None:
        """Bring the copies of this machine up to date, where they are nothing but copies."""
        if not self._target.restores:
            return
        try:
            sync(self._site)
        except OSError as error:
            # The run reads at the destination itself; if that cannot be reached, it is told there.
            _LOG.warning("state and schemas are not copied to %s: %s", self._target.workdir.path, error)

    def _arrive(self, lease: Lease) -> Forward:
        """Tidy up, and bring what waited for the destination."""
        self._packages.tidy(self._site.habits.retention)
        self._waiting_room().carry_to(self._packages, times=self._site.habits.lease_times)
        return Forward(self._site, lease, self._rules, self._recorder, file_format=self._file_format)

    def _say_where_it_goes_on(self) -> None:
        """State and schemas are read at the destination by all machines; on a fresh one that is news."""
        last = None
        if self._target.workdir.state() is None:
            last = self._site.ledger.last_commit(self._target.pipeline_name)
        if last is not None:
            self._recorder.notes.append(
                "this machine did not know the pipeline: its state and schemas are those of "
                f"load {last.load_id} at the destination"
            )

    def _begin(self, forward: Forward) -> None:
        """Finish a sealed load; before the first one ever, see whether the storage can be trusted with it."""
        if not forward.settle_sealed():
            require_trust(self._packages.store)

    def _extract(self, flows: Sequence[Flow], lease: Lease) -> Generator[Package]:
        """The packages of new data, each when it is ready: loading it and reading on take turns."""
        extracting = self._extracting(
            lease, pending=False, elsewhere=Elsewhere(self._site.session, lease.check)
        )
        made = extracting.extract(flows, self._recorder.hear_extracted)
        while True:
            with self._recorder.step("extract"), self._site.reading():
                packages = next(made, None)
            if packages is None:
                return
            yield from packages

    def _extracting(self, lease: Lease, *, pending: bool, elsewhere: Elsewhere | None = None) -> Extracting:
        site, able = self._site, self._target.destination.capabilities
        return Extracting(
            packages=self._packages,
            known=site.known_later if pending else site.known,
            naming=site.naming,
            settings=self._extraction,
            check=lease.check,
            dispositions=frozenset(able.supported_write_dispositions),
            formats=frozenset(() if able.preferred_table_format else able.supported_table_formats)
            - {"native"},
            collector=self._target.collector,
            elsewhere=elsewhere,
            send=sender(self._extraction, self._packages.store, site.session, is_remote=site.is_remote),
        )

    def _waiting_room(self) -> WaitingRoom:
        return WaitingRoom(
            pipeline_name=self._target.pipeline_name,
            workdir=self._target.workdir,
            storage=self._extraction.package_storage,
            files=self._target.files,
        )


def _cause(error: Exception, lease: Lease) -> Exception | None:
    """What an error came of, where it does not say so itself."""
    if lease.is_lost and not isinstance(error, LeaseLost):
        # Whatever broke, it broke because our jobs were stopped.
        return LeaseLost(epoch=lease.epoch, host=lease.holder.host)
    return None if isinstance(error, PenstockError) else storage_fault(error)
