"""One run: finish what is pending, then extract, normalize, seal and load the new data."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import SlotTaken, in_stage
from penstock.extract.run import extract
from penstock.interfaces import StoredState
from penstock.load.plan import next_sequence
from penstock.load.report import LoadInfo, PackageReport
from penstock.load.run import load
from penstock.normalize.run import normalize
from penstock.package import Manifest, Package, Packages, create_load_id
from penstock.pipeline.restore import Known, restore
from penstock.pipeline.state import ENGINE_VERSION, encode_state, with_version
from penstock.spark.own import SessionPool
from penstock.spark.session import check_session, find_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from penstock.interfaces import Resource
    from penstock.pipeline.target import Target


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

    def run(self, resources: Sequence[Resource]) -> LoadInfo:
        """Pending packages never hide new data: they are finished first, and both are reported."""
        try:
            reports = self._finish_pending()
            if resources:
                reports += self._load_new(resources)
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
            reports += self._normalize_and_load(package, self._known())
        return reports

    def _load_new(self, resources: Sequence[Resource]) -> list[PackageReport]:
        known = self._known()
        package = self._packages.package(create_load_id())
        started = time.monotonic()
        with in_stage("extract", load_id=package.load_id):
            info = extract(resources, package, schema_name=known.schema.name)
        self._took("extract", started)
        if not info.rows:
            package.store.delete("")
            return []
        return self._normalize_and_load(package, known)

    def _normalize_and_load(self, package: Package, known: Known) -> list[PackageReport]:
        started = time.monotonic()
        extras = {"table_format": self._target.destination.destination_name}
        longest = self._target.destination.spec.capabilities.max_identifier_length
        naming = known.schema.naming.with_max_length(longest)
        with in_stage("normalize", load_id=package.load_id), self._pool.session() as spark:
            normalized = normalize(package, known.schema, spark=spark, naming=naming, table_extras=extras)
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
            state=with_version(known.state),
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

    def _known(self) -> Known:
        return restore(
            self._target.client.ledger(),
            pipeline_name=self._target.pipeline_name,
            dataset_name=self._target.dataset_name,
            destination_type=self._target.destination.spec.state_type,
        )

    def _took(self, step: str, started: float) -> None:
        self._seconds[step] = self._seconds.get(step, 0.0) + time.monotonic() - started


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
