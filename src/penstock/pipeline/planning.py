"""Plans and their application: a package that is normalized and counted, and published later or never."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import PackageDamaged, PlanExpired, PlanOutdated, UsageError
from penstock.extract.waves.executors import ExecutorBackend
from penstock.load.changes import affected_tables, count_changes, table_states
from penstock.normalize.normalized import load_normalized, schema_version
from penstock.package.checks import CHECKS_TABLE
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.layout import PLANNED_FILE
from penstock.package.manifest import job_sizes
from penstock.package.quarantine import QUARANTINE_TABLE
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.execution import Execution
from penstock.pipeline.load_checks import require_conditions
from penstock.pipeline.plan import (
    LoadPlan,
    PackagePlan,
    PlanBase,
    PlanConfiguration,
    planned_rejects,
    planned_schema_changes,
    planned_tables,
)
from penstock.pipeline.state import state_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.interfaces import Flow
    from penstock.load.target import LoadTarget
    from penstock.package import Manifest, Package, Packages
    from penstock.package.lease import Lease
    from penstock.package.packages import SealedLoad
    from penstock.pipeline.restore import PipelineSnapshot

_LOG = logger("penstock.pipeline")
_SYSTEM_TABLES: Final = (QUARANTINE_TABLE, CHECKS_TABLE)


class PlanExecution(Execution):
    """One call of `plan` or `apply`."""

    def plan(self, flows: Sequence[Flow]) -> LoadPlan:
        """Extract and normalize into packages that only `apply` loads, and count what they would change."""
        require_conditions(flows)
        self._workspace.set_session_needs(flows)
        with self._lease("extract") as lease:
            last = self._last_sealed_load(lease)
            self._recorder.has_begun_work = False
            self._refuse_pending(last)
            self._recorder.has_begun_work = True
            self._delete_unusable_plans(lease)
            extraction = self._make_extraction(
                lease,
                snapshot_of=self._workspace.snapshot,
                step=self._extract_step,
                executors=ExecutorBackend(self._workspace.session, lease.check),
                is_planned=True,
            )
            packages = list(extraction.extract(flows))
            try:
                package_plans = self._plan_packages(packages, last, lease)
            except BaseException:
                # Without a plan they cannot be applied.
                delete_quietly(packages)
                raise
            plan = self._as_plan(package_plans)
            for package, package_plan in zip(packages, plan.packages, strict=True):
                lease.check()
                package.save_plan(replace(plan, packages=(package_plan,)).to_dict())
        # Checks and refusals are parts of the plan itself.
        shown = {note for report in self._recorder.normalize_reports for note in report.notes}
        return replace(plan, notes=tuple(note for note in self._recorder.notes if note not in shown))

    def apply(self, load_ids: Sequence[str]) -> None:
        """Publish planned packages; raise if one is expired or out of date."""
        with self._lease("load") as lease:
            last = self._last_sealed_load(lease)
            self._packages.apply_retention(self._workspace.run_settings.retention)
            if last is not None and last.to_load is not None and last.manifest.load_id in load_ids:
                # An earlier call was interrupted.
                self._resume_sealed_load(last, lease)
            # Until a package is published, an error is no failure of a step.
            self._recorder.has_begun_work = bool(self._recorder.load_reports)
            for load_id in load_ids:
                package = self._packages.package(load_id).require_exists()
                if package.status == "planned":
                    self._apply_package(package, lease)
                else:
                    self._refuse_unplanned(package)
            remove_old_boundaries(
                self._packages, lambda: self._workspace.snapshot().state, upto=max(load_ids, default="")
            )

    # --- plan

    def _plan_packages(
        self, packages: Sequence[Package], last: SealedLoad | None, lease: Lease
    ) -> list[PackagePlan]:
        plans: list[PackagePlan] = []
        committed = self._workspace.ledger.last_commit(self._target.pipeline.pipeline_name)
        sealed_id = last.manifest.load_id if last else None
        load_id = committed.load_id if committed else None
        seen_tables: set[str] = set()
        for package in packages:
            plan = self._plan_package(package, lease, sealed_id=sealed_id, load_id=load_id)
            if plans:
                # The load before it changes the state, and tables of both.
                plan = replace(plan, base=plan.base.after_others(seen_tables))
            plans.append(plan)
            sealed_id = load_id = package.load_id
            seen_tables |= {*plan.base.tables, *plan.base.absent}
        return plans

    def _plan_package(
        self, package: Package, lease: Lease, *, sealed_id: str | None, load_id: str | None
    ) -> PackagePlan:
        with self._load_stage(package.load_id):
            extracted = ExtractManifest.from_dict(package.read_extracted())
            snapshot = self._workspace.snapshot(extracted.schema_name)
        normalized = self._normalize(package, extracted, snapshot.schema, lease)
        with self._load_stage(package.load_id):
            manifest = self._next_manifest(package, extracted, snapshot, normalized)
            target = self._workspace.load_target(manifest, lease)
            changes = count_changes(manifest, target)
            base = self._base(manifest, target, snapshot, sealed_id=sealed_id, load_id=load_id)
        sizes = job_sizes(manifest.tables, manifest.folders)
        known_sizes = [folder.bytes for folder in manifest.folders]
        report = normalized.report
        return PackagePlan(
            load_id=package.load_id,
            schema_name=manifest.schema_name,
            tables=planned_tables(
                changes, {entry.table: sizes[entry.job] or None for entry in manifest.tables}
            ),
            schema_changes=tuple(
                planned_schema_changes(
                    snapshot.schema.tables,
                    normalized.schema.tables,
                    [entry.table for entry in manifest.tables if entry.table not in _SYSTEM_TABLES],
                    manifest.origins,
                )
            ),
            rejects=() if report is None else planned_rejects(report.rejects),
            unreadable_rows=0 if report is None else sum(root.unreadable for root in report.roots),
            checks=normalized.checks,
            dropped_tables=tuple(manifest.dropped),
            bytes=None if None in known_sizes else sum(size or 0 for size in known_sizes),
            base=base,
        )

    def _base(
        self,
        manifest: Manifest,
        target: LoadTarget,
        snapshot: PipelineSnapshot,
        *,
        sealed_id: str | None,
        load_id: str | None,
    ) -> PlanBase:
        names = affected_tables(manifest, target)
        states = table_states(names, target)
        return PlanBase(
            sealed_id=sealed_id,
            load_id=load_id,
            schema_hash=schema_version(snapshot.schema),
            state_hash=state_hash(snapshot.state),
            tables=dict(states),
            absent=tuple(name for name in names if name not in states),
        )

    def _as_plan(self, packages: Iterable[PackagePlan]) -> LoadPlan:
        now = datetime.now(UTC)
        settings = self._workspace.resolve_settings(PlanConfiguration, "plan")
        facts = self._recorder.destination_info
        return LoadPlan(
            pipeline_name=self._target.pipeline.pipeline_name,
            destination_name=facts["destination_name"],
            dataset_name=facts["dataset_name"],
            location=facts["location"],
            created_at=now.isoformat(timespec="seconds"),
            expires_at=(now + timedelta(days=settings.expires_after)).isoformat(timespec="seconds"),
            packages=tuple(packages),
        )

    def _refuse_pending(self, last: SealedLoad | None) -> None:
        """Raise if packages are pending: a plan would be out of date once they are loaded."""
        pending = [*self._packages.pending_packages(), *self._unbound.packages.with_status("extracted")]
        load_ids = {package.load_id for package in pending}
        if last is not None and last.to_load is not None:
            load_ids.add(last.manifest.load_id)
        if load_ids:
            name = self._target.pipeline.pipeline_name
            raise UsageError(
                f"packages of {name!r} are pending: {', '.join(sorted(load_ids))}",
                hint="load them with run(), or drop them with drop_pending_packages(), then plan",
            )

    def _delete_unusable_plans(self, lease: Lease) -> None:
        """Delete plans that are expired, and packages of plans that were not completed."""
        for package in self._packages.planned_packages():
            if package.read_plan() and read_plan(package).is_expired():
                lease.confirm()
                package.delete()
        delete_incomplete_plans(self._packages, lease)

    # --- apply

    def _apply_package(self, package: Package, lease: Lease) -> None:
        with self._load_stage(package.load_id):
            plan = read_plan(package)
            if plan.is_expired():
                raise PlanExpired(load_id=package.load_id, expires_at=plan.expires_at)
            (planned,) = plan.packages
            changes = [*self._pending_texts(), *self._changes_since(package, planned.base, lease)]
            if changes:
                raise PlanOutdated(load_id=package.load_id, changes=tuple(changes))
        self._recorder.has_begun_work = True
        self._normalize_and_load(package, lease)

    def _pending_texts(self) -> list[str]:
        pending = self._packages.pending_packages()
        return [f"package {package.load_id} is pending" for package in pending]

    def _changes_since(self, package: Package, base: PlanBase, lease: Lease) -> Iterator[str]:
        """Yield what has changed since the plan was made."""
        extracted = ExtractManifest.from_dict(package.read_extracted())
        snapshot = self._workspace.snapshot(extracted.schema_name)
        normalized = load_normalized(
            package, destination_type=self._target.destination_type, schema_before=base.schema_hash
        )
        if normalized is None:
            raise PackageDamaged(path=package.path, reason="it was normalized again since it was planned")
        manifest = self._next_manifest(package, extracted, snapshot, normalized)
        committed = self._workspace.ledger.last_commit(self._target.pipeline.pipeline_name)
        last = self._packages.last_sealed()
        target = self._workspace.load_target(manifest, lease)
        now = PlanBase(
            sealed_id=last.load_id if last else None,
            load_id=committed.load_id if committed else None,
            schema_hash=schema_version(snapshot.schema),
            state_hash=state_hash(snapshot.state),
            tables=dict(table_states((*base.tables, *base.absent), target)),
        )
        yield from now.changes_since(base)

    def _refuse_unplanned(self, package: Package) -> None:
        """Raise for a package without a plan; one that is loaded already is only noted."""
        if not package.is_plan:
            raise UsageError(
                f"package {package.load_id} has no plan", hint="apply a package that plan() has made"
            )
        self._recorder.notes.append(f"package {package.load_id} was loaded before and is not loaded again")


def read_plan(package: Package) -> LoadPlan:
    """Return the plan of a planned package."""
    document = package.read_plan()
    path = package.store.path(PLANNED_FILE)
    if not document:
        raise PackageDamaged(path=path, reason="the plan was not completed")
    try:
        return LoadPlan.from_dict(document)
    except (KeyError, TypeError, ValueError) as error:
        raise PackageDamaged(path=path, reason=f"{error} is missing or wrong in it") from error


def list_plans(packages: Packages) -> list[LoadPlan]:
    """Return the plans that wait for `apply`, oldest first; those that are not completed are left out."""
    return [read_plan(package) for package in packages.planned_packages() if package.read_plan()]


def drop_plans(packages: Packages, load_ids: Sequence[str], **lease: Any) -> None:
    """Delete planned packages, the newest first; `lease` are the arguments of the lease."""
    with packages.lease(**lease):
        for load_id in sorted(load_ids, reverse=True):
            package = packages.package(load_id).require_exists()
            if package.status != "planned":
                raise UsageError(
                    f"package {load_id} is {package.status}, and not planned",
                    hint="drop_pending_packages() drops pending packages",
                )
            package.delete()


def delete_incomplete_plans(packages: Packages, lease: Lease) -> None:
    """Delete packages of plans and replays that were not completed."""
    for package in packages.planned_packages():
        if not package.read_plan():
            lease.confirm()
            package.delete()


def delete_quietly(packages: Sequence[Package]) -> None:
    """Delete packages after another error; the next plan deletes those that remain."""
    for package in packages:
        try:
            package.delete()
        except OSError as error:
            _LOG.warning("package %s is not deleted: %s", package.load_id, error)
