"""One run: finish what is pending, then extract, normalize, seal and load the new data."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from penstock.config import logger
from penstock.errors import LeaseLost, PenstockError, StorageFull
from penstock.extract.waves.elsewhere import Elsewhere
from penstock.extract.waves.ledger import has_waves
from penstock.load.settings import LoaderConfiguration
from penstock.package.trust import require_trust
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.extracting import Extracting
from penstock.pipeline.forward import Forward
from penstock.pipeline.packageroot import check_package_root
from penstock.pipeline.sending import sender
from penstock.pipeline.site import Site
from penstock.pipeline.stopping import interrupt_behind
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
        self._recorder.begin()
        self._site.need(flows)
        try:
            with (
                self._site.lease() as lease,
                self._site.client,
                self._recorder.step("extract"),
                self._site.reading(),
                _explained(lease),
            ):
                self._recorder.is_begun = True
                check_package_root(self._site, record=False)
                # New data goes on from what waits on this machine too, and stays behind it.
                self._carry(lease)
                made = self._extracting(lease, pending=True).extract(flows, self._recorder.hear_extracted)
                ready = [package.load_id for packages in made for package in packages]
        except (KeyboardInterrupt, SystemExit):
            self._site.interrupt()
            raise
        finally:
            self._recorder.notes += self._site.notes
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
            # One with waves of work items stays: extraction knows whether it goes on.
            unfinished = [new for new in self._packages.with_status("new") if not has_waves(new.store)]
            if unfinished:
                lease.confirm()
            for package in unfinished:
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
            if not self._recorder.loaded:
                # What a later run has loaded is no news here: this run must not report that there was none.
                lease.confirm()
                return
            lease.check()
            last = max(package.load_id for package in self._recorder.loaded)
            remove_old_boundaries(self._packages, lambda: self._site.known().state, upto=last)

    @contextmanager
    def _working(self) -> Iterator[Lease]:
        """The lease and the client, for the time of a block; what breaks says why."""
        self._recorder.begin()
        try:
            # Before the right to work is asked for: a session may be refused.
            self._site.pool  # noqa: B018 - opened when it is asked for
            with self._site.lease(on_lost=self._site.interrupt) as lease, self._site.client:
                self._recorder.is_begun = True
                try:
                    with _explained(lease):
                        self._check_package_root()
                        self._say_where_it_goes_on()
                        yield lease
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
        self._carry(lease)
        return Forward(self._site, lease, self._rules, self._recorder, file_format=self._file_format)

    def _check_package_root(self) -> None:
        note = check_package_root(self._site, record=True)
        if note is not None:
            self._recorder.notes.append(note)

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
            lease=lease,
            dispositions=frozenset(able.supported_write_dispositions),
            formats=frozenset(() if able.preferred_table_format else able.supported_table_formats)
            - {"native"},
            collector=self._target.collector,
            elsewhere=elsewhere,
            send=sender(self._extraction, self._packages.store, site.session, is_remote=site.is_remote),
        )

    def _carry(self, lease: Lease) -> None:
        """Bring packages that were extracted before the destination was known."""
        self._waiting_room().carry_to(
            self._packages, lease=lease, ledger=self._site.ledger, times=self._site.habits.lease_times
        )

    def _waiting_room(self) -> WaitingRoom:
        return WaitingRoom(
            pipeline_name=self._target.pipeline_name,
            workdir=self._target.workdir,
            storage=self._extraction.package_storage,
            files=self._target.files,
        )


@contextmanager
def _explained(lease: Lease) -> Iterator[None]:
    """Raise the root cause of an error instead, where the error does not name it itself."""
    handled = sys.exception()
    try:
        yield
    except Exception as error:
        cause = interrupt_behind(error, handled=handled) or _cause(error, lease)
        if cause is None:
            raise
        raise cause from error


def _cause(error: Exception, lease: Lease) -> Exception | None:
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
    return None if isinstance(error, PenstockError) else storage_fault(error)
