"""One run: finish what is pending, then extract, normalize, seal and load the new data."""

from __future__ import annotations

import time
from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import SlotTaken, in_stage
from penstock.extract.plan import Workload
from penstock.extract.run import extract
from penstock.interfaces import StoredState
from penstock.load.plan import next_sequence
from penstock.load.report import LoadInfo, PackageReport
from penstock.load.run import load
from penstock.normalize.run import normalize
from penstock.package import Manifest, Package, Packages, create_load_id, package_context
from penstock.package.extracted import Extracted
from penstock.pipeline.restore import Known, restore, with_source_schema
from penstock.pipeline.state import ENGINE_VERSION, encode_state, with_sources, with_version
from penstock.spark.own import SessionPool
from penstock.spark.session import check_session, find_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from penstock.config import Settings
    from penstock.interfaces import Flow
    from penstock.pipeline.target import Target
    from penstock.schema import NamingConvention, Schema


class Runner:
    """Carries one call of `Pipeline.run` through the stages."""

    def __init__(self, target: Target, *, spark: SparkSession | None) -> None:
        needs = target.destination.spec.capabilities.spark_needs
        self._target = target
        self._user = find_session(spark, target.settings, needs)
        check_session(self._user, needs)
        self._pool = SessionPool(self._user, needs)
        self._packages = Packages.at(target.client.package_root(target.pipeline_name))
        self._seconds: dict[str, float] = {}

    def run(self, flows: Sequence[Flow]) -> LoadInfo:
        """Pending packages never hide new data: they are finished first, and both are reported."""
        try:
            reports = self._finish_pending()
            for package in self._extract(flows):
                reports += self._normalize_and_load(package)
        finally:
            self._pool.close()
        return LoadInfo(
            pipeline_name=self._target.pipeline_name,
            destination_name=self._target.destination.destination_name,
            dataset_name=self._target.dataset_name,
            location=self._target.client.describe(),
            packages=tuple(reports),
            seconds=self._seconds,
            notes=tuple(self._pool.notes),
        )

    def _finish_pending(self) -> list[PackageReport]:
        """A sealed package is rolled forward; an extracted one goes on from its files."""
        reports: list[PackageReport] = []
        self._packages.tidy()
        sealed = self._packages.to_roll_forward()
        if sealed is not None:
            reports.append(self._load(sealed))
        unsealed = [*self._packages.with_status("extracted"), *self._packages.with_status("normalized")]
        for package in sorted(unsealed, key=lambda package: package.load_id):
            reports += self._normalize_and_load(package)
        return reports

    def _extract(self, flows: Sequence[Flow]) -> list[Package]:
        """A package for each flow that brought rows or changed the state; none counts if one fails."""
        started = time.monotonic()
        made: list[tuple[Package, Extracted]] = []
        # What one flow remembers is there for the next.
        state = deepcopy(self._known().state)
        for flow in flows:
            package = self._packages.package(create_load_id())
            known = self._known(flow.name)
            with in_stage("extract", load_id=package.load_id), package_context(package):
                done = extract(
                    flow,
                    package,
                    schema_name=known.schema.name,
                    naming=self._naming(known.schema),
                    state=state,
                    dispositions=self._target.destination.spec.capabilities.write_dispositions,
                    workload=_workload(self._target.settings),
                )
            if done.brings_something:
                made.append((package, done.extracted))
            else:
                package.delete()
        for package, extracted in made:
            package.mark_extracted(extracted.to_dict())
        self._took("extract", started)
        return [package for package, _ in made]

    def _normalize_and_load(self, package: Package) -> list[PackageReport]:
        started = time.monotonic()
        extracted = Extracted.from_dict(package.extracted())
        known = self._known(extracted.schema_name)
        schema = with_source_schema(known.schema, extracted)
        extras = {"table_format": self._target.destination.destination_name}
        with in_stage("normalize", load_id=package.load_id), self._pool.session() as spark:
            normalized = normalize(
                package, schema, spark=spark, naming=self._naming(schema), table_extras=extras
            )
        self._took("normalize", started)
        last = self._packages.last_sealed()
        manifest = Manifest(
            load_id=package.load_id,
            sequence=next_sequence(last.sequence if last else None),
            pipeline_name=self._target.pipeline_name,
            dataset_name=self._target.dataset_name,
            schema_name=known.schema.name,
            tables=normalized.tables,
            folders=normalized.folders,
            schema_before=None if known.schema.is_new else known.schema.version_hash,
            schema=dict(normalized.schema.to_dict()),
            state=with_version(with_sources(known.state, extracted)),
        )
        if not self._packages.seal(manifest):
            raise SlotTaken(pipeline=manifest.pipeline_name, sequence=manifest.sequence)
        return [self._load(manifest)]

    def _load(self, manifest: Manifest) -> PackageReport:
        started = time.monotonic()
        package = self._packages.package(manifest.load_id)
        with in_stage("load", load_id=manifest.load_id):
            report = load(
                manifest,
                package,
                self._target.client,
                state=_state_row(manifest),
                pool=self._pool,
                packages=self._packages,
            )
        self._target.workdir.save(state=manifest.state, schema=manifest.schema)
        self._took("load", started)
        return report

    def _naming(self, schema: Schema) -> NamingConvention:
        return schema.naming.with_max_length(self._target.destination.spec.capabilities.max_identifier_length)

    def _known(self, schema_name: str | None = None) -> Known:
        return restore(
            self._target.client.ledger(),
            pipeline_name=self._target.pipeline_name,
            dataset_name=self._target.dataset_name,
            destination_type=self._target.destination.spec.state_type,
            schema_name=schema_name,
        )

    def _took(self, step: str, started: float) -> None:
        self._seconds[step] = self._seconds.get(step, 0.0) + time.monotonic() - started


def _workload(settings: Settings) -> Workload:
    """How much is extracted at the same time: the section `extract` of the settings."""
    said = {name: settings.get("extract", key=name) for name in ("workers", "max_parallel_items")}
    numbers = {name: int(value) for name, value in said.items() if value is not None}
    mode = settings.get("extract", key="next_item_mode")
    return Workload(**numbers, next_item_mode=mode or "round_robin")


def _state_row(manifest: Manifest) -> StoredState:
    state: dict[str, Any] = dict(manifest.state)
    return StoredState(
        version=state["_state_version"],
        engine_version=ENGINE_VERSION,
        pipeline_name=manifest.pipeline_name,
        state=encode_state(state),
        created_at=datetime.fromtimestamp(float(manifest.load_id), UTC).isoformat(),
        version_hash=state["_version_hash"],
        load_id=manifest.load_id,
    )
