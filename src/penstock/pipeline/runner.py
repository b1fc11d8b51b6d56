"""One run: finish what is pending, then extract, normalize, seal and load the new data."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import LeaseLost, PenstockError, SlotTaken, in_stage
from penstock.extract.report import ExtractInfo
from penstock.extract.waves.elsewhere import Elsewhere
from penstock.extract.waves.ledger import has_waves
from penstock.interfaces import StateInfo
from penstock.load.report import LoadInfo, PackageReport
from penstock.load.run import finish, load
from penstock.load.settings import LoaderConfiguration
from penstock.load.takeback import take_back
from penstock.normalize.run import normalize
from penstock.normalize.settings import NormalizeConfiguration
from penstock.package import Manifest, Package
from penstock.package.extracted import Extracted
from penstock.package.trust import require_trust
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.extracting import Extracting
from penstock.pipeline.restore import with_source_schema
from penstock.pipeline.sending import sender
from penstock.pipeline.site import Site
from penstock.pipeline.state import ENGINE_VERSION, encode_state, with_sources, with_version
from penstock.pipeline.trace import PipelineTrace
from penstock.pipeline.waiting import WaitingRoom
from penstock.spark.faults import storage_fault

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pyspark.sql import SparkSession

    from penstock.extract.report import ExtractReport
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.normalize.report import NormalizeInfo
    from penstock.package.lease import Lease
    from penstock.pipeline.target import Target


class Runner:
    """Carries one call of `Pipeline.run` through the stages."""

    def __init__(
        self, target: Target, *, spark: SparkSession | None, extraction: ExtractConfiguration
    ) -> None:
        self._site, self._extraction = Site(target, spark=spark), extraction
        self._target, self._packages = target, self._site.packages
        self._rules = self._site.settings(LoaderConfiguration, "load")
        self._seconds: dict[str, float] = {}
        self._notes: list[str] = []
        self._failed: dict[str, PenstockError] = {}
        self._extracted: list[ExtractReport] = []
        self._normalized: list[NormalizeInfo] = []

    def extract(self, flows: Sequence[Flow]) -> ExtractInfo:
        """Extract, and leave the packages for a later run. Spark is not started for Python rows."""
        reports: list[ExtractReport] = []
        try:
            with self._site.lease() as lease, self._site.client:
                made = self._extracting(lease, pending=True).extract(flows, reports.append)
                ready = {package.load_id for packages in made for package in packages}
        finally:
            self._site.close()
        return ExtractInfo(
            pipeline_name=self._target.pipeline_name,
            location=self._packages.store.path(""),
            packages=tuple(report for report in reports if report.load_id in ready),
        )

    def run(self, flows: Sequence[Flow]) -> PipelineTrace:
        """Pending packages never hide new data: they are finished first, and both are reported.

        One run of a pipeline at a time: a second one is refused while this one lives.
        """
        started = datetime.now(UTC)
        try:
            with self._site.lease(on_lost=self._site.pool.interrupt) as lease:
                reports = self._run(flows, lease)
        finally:
            self._site.close()
        info = LoadInfo(
            pipeline_name=self._target.pipeline_name,
            destination_name=self._target.destination.destination_name,
            dataset_name=self._target.dataset_name,
            location=self._site.client.displayable_location(),
            packages=tuple(reports),
            seconds=self._seconds,
            notes=(*self._notes, *self._site.pool.notes),
            failed_resources=self._failed,
        )
        loaded = {report.load_id: {one.table: one.rows for one in report.tables} for report in reports}
        return PipelineTrace(
            pipeline_name=self._target.pipeline_name,
            started_at=started,
            finished_at=datetime.now(UTC),
            extract_infos=tuple(self._extracted),
            normalize_infos=tuple(one.with_loaded(loaded.get(one.load_id, {})) for one in self._normalized),
            last_load_info=info,
        )

    def _run(self, flows: Sequence[Flow], lease: Lease) -> list[PackageReport]:
        try:
            with self._site.client:
                reports = self._finish_pending(lease)
                # Closed at once when a load fails: generators of users are in the middle of something.
                with closing(self._extract(flows, lease)) as packages:
                    for package in packages:
                        reports += self._normalize_and_load(package, lease)
                lease.check()
                remove_old_boundaries(self._packages, self._site.known().state)
        except Exception as error:
            # Whatever broke, it broke because our jobs were stopped.
            if lease.is_lost and not isinstance(error, LeaseLost):
                raise LeaseLost(epoch=lease.epoch, host=lease.holder.host) from error
            fault = None if isinstance(error, PenstockError) else storage_fault(error)
            if fault is not None:
                raise fault from error
            raise
        return reports

    def _finish_pending(self, lease: Lease) -> list[PackageReport]:
        """A sealed package is rolled forward, an extracted one goes on, one that is neither goes.

        One with waves of work items stays: extraction knows whether it goes on.
        """
        reports: list[PackageReport] = []
        self._packages.tidy(self._site.habits.retention)
        self._waiting_room().carry_to(self._packages, times=self._site.habits.lease_times)
        aborted = self._packages.to_take_back()
        if aborted is not None:
            manifest, outcome = aborted
            take_back(manifest, outcome, self._site.into(manifest, lease))
        sealed = self._packages.to_roll_forward()
        if sealed is None and not self._packages.slots.last():
            require_trust(self._packages.store)
        elif sealed is not None and self._site.is_committed(sealed):
            finish(sealed, self._site.into(sealed, lease), state=_state_row(sealed))
        elif sealed is not None:
            reports.append(self._load(sealed, lease))
        for package in self._packages.with_status("new"):
            if not has_waves(package.store):
                package.delete()
        unsealed = [*self._packages.with_status("extracted"), *self._packages.with_status("normalized")]
        for package in sorted(unsealed, key=lambda package: package.load_id):
            reports += self._normalize_and_load(package, lease)
        return reports

    def _extract(self, flows: Sequence[Flow], lease: Lease) -> Generator[Package]:
        """The packages of new data, each when it is ready: loading it and reading on take turns."""
        extracting = self._extracting(
            lease, pending=False, elsewhere=Elsewhere(self._site.session, lease.check)
        )
        for packages in extracting.extract(flows, self._hear):
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

    def _hear(self, report: ExtractReport) -> None:
        """Take note of what the extraction of a package came to."""
        self._extracted.append(report)
        self._seconds["extract"] = self._seconds.get("extract", 0.0) + report.seconds
        self._notes += [
            f"of {name} {count:,} could not be written: see the table _dlt_quarantine"
            for name, count in report.put_aside.items()
        ]
        self._failed.update(report.failures)

    def _normalize_and_load(self, package: Package, lease: Lease) -> list[PackageReport]:
        started = time.monotonic()
        extracted = Extracted.from_dict(package.extracted())
        known = self._site.known(extracted.schema_name)
        schema = with_source_schema(known.schema, extracted)
        able = self._target.destination.capabilities
        table_format = able.preferred_table_format
        with in_stage("normalize", load_id=package.load_id), self._site.session() as spark:
            normalized = normalize(
                package,
                schema,
                spark=spark,
                naming=self._site.naming(schema),
                table_extras={"table_format": table_format} if table_format else {},
                settings=self._site.settings(NormalizeConfiguration, "normalize"),
                merge_strategy=next(iter(able.supported_merge_strategies), None),
                can_alter=self._target.config.alterable_types,
            )
        self._took("normalize", started)
        self._normalized.append(normalized.info)
        self._notes += normalized.info.notes
        manifest = Manifest(
            load_id=package.load_id,
            sequence=self._site.next_sequence(),
            pipeline_name=self._target.pipeline_name,
            dataset_name=self._target.dataset_name,
            schema_name=known.schema.name,
            tables=normalized.tables,
            folders=normalized.folders,
            schema_before=None if known.schema.is_new else known.schema.version_hash,
            schema=dict(normalized.schema.to_dict()),
            state=with_version(with_sources(known.state, extracted)),
        )
        lease.check()
        if not self._packages.seal(manifest):
            raise SlotTaken(pipeline=manifest.pipeline_name, sequence=manifest.sequence)
        return [self._load(manifest, lease)]

    def _load(self, manifest: Manifest, lease: Lease) -> PackageReport:
        started = time.monotonic()
        into = self._site.into(manifest, lease)
        with in_stage("load", load_id=manifest.load_id):
            report = load(manifest, into, state=_state_row(manifest), rules=self._rules)
        self._target.workdir.save(state=manifest.state, schema=manifest.schema)
        self._took("load", started)
        return report

    def _waiting_room(self) -> WaitingRoom:
        return WaitingRoom(
            pipeline_name=self._target.pipeline_name,
            workdir=self._target.workdir,
            storage=self._extraction.package_storage,
        )

    def _took(self, step: str, started: float) -> None:
        self._seconds[step] = self._seconds.get(step, 0.0) + time.monotonic() - started


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
