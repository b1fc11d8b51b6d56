"""The model of packages, as a few dictionaries, and the observation of real ones by a new process."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from penstock.package import Manifest, Packages, PackageStorage, TableEntry, TLoadPackageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

PENDING: tuple[TLoadPackageStatus, ...] = ("new", "extracted", "normalized")
FINISHED: tuple[TLoadPackageStatus, ...] = ("loaded", "aborted")
JOB_FOLDERS = ("new_jobs", "started_jobs", "failed_jobs", "completed_jobs")


@dataclass
class OnePackage:
    """A package through its public methods."""

    status: TLoadPackageStatus = "new"
    jobs: dict[str, tuple[str, int]] = field(default_factory=dict)
    updates: dict[str, Any] | None = None
    applied: dict[str, Any] | None = None
    counter: int = 0
    has_data: bool = True

    @property
    def has_failed(self) -> bool:
        return "failed_jobs" in {state for state, _ in self.jobs.values()}

    @property
    def is_finished(self) -> bool:
        return self.status in FINISHED

    @property
    def rank(self) -> int:
        return get_args(TLoadPackageStatus).index(self.status) if not self.is_finished else len(PENDING)


@dataclass
class World:
    """All packages, the slots that are taken, in order, and what became of them."""

    packages: dict[str, OnePackage] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    outcomes: dict[int, str] = field(default_factory=dict)

    def after(self, change: Callable[[World], object]) -> World:
        """A copy with a change."""
        world = copy.deepcopy(self)
        change(world)
        return world

    def ended(self, load_id: str, status: TLoadPackageStatus) -> list[World]:
        """The worlds on the way to a package that is finished and has let its data go."""

        def mark(world: World) -> None:
            one = world.packages[load_id]
            one.status = one.status if one.is_finished else status

        def let_go(world: World) -> None:
            world.packages[load_id].has_data &= world.packages[load_id].has_failed

        if load_id not in self.packages:
            return []
        marked = self.after(mark)
        return [marked, marked.after(let_go)]

    def is_open(self) -> bool:
        """Whether the last sealed load waits to be rolled forward."""
        package = self.packages.get(self.slots[-1]) if self.slots else None
        return package is not None and not package.is_finished and self.last_outcome() != "abort"

    def last_outcome(self) -> str | None:
        return self.outcomes.get(len(self.slots))

    def settled(self) -> World:
        """After a look at the last load: one that was aborted is finished as such."""
        package = self.packages.get(self.slots[-1]) if self.slots else None
        if self.slots and package is None:
            return self.after(lambda world: world.outcomes.setdefault(len(self.slots), "abort"))
        if package is not None and not package.is_finished and self.last_outcome() == "abort":
            return self.ended(self.slots[-1], "aborted")[-1]
        return self


def manifest_of(load_id: str, sequence: int) -> Manifest:
    """Return a small manifest; its tables do not matter here."""
    return Manifest(
        load_id=load_id,
        sequence=sequence,
        pipeline_name="shop",
        dataset_name="lake",
        schema_name="shop",
        tables=(TableEntry(table="items", job="items.5c1c2f0d11.0.reference", write_disposition="append"),),
        schema_before=None,
        schema={"name": "shop"},
        state={},
    )


def observed(packages: Packages) -> World:
    """The world as a process sees it that has just started."""
    world = World()
    last = packages.slots.last()
    for sequence in range(1, last + 1):
        manifest = packages.slots.read(sequence)
        assert manifest is not None, f"slot {sequence} of {last} is empty"
        world.slots.append(manifest.load_id)
        outcome = packages.slots.find_decision(sequence)
        if outcome is not None:
            world.outcomes[sequence] = outcome.decision
    assert len(set(world.slots)) == len(world.slots), "a package is in two slots"
    assert packages.slots.read(last + 1) is None
    for status in (*PENDING, FINISHED[0]):
        for load_id in packages.loaded_packages.list_packages_with_status(status):
            assert load_id not in world.packages, f"{load_id} has two statuses"
            world.packages[load_id] = _one(packages, load_id)
    return world


def storage_of(packages: Packages, status: TLoadPackageStatus) -> PackageStorage:
    return PackageStorage(packages.store.subfolder("packages"), status)


def _one(packages: Packages, load_id: str) -> OnePackage:
    package = packages.package(load_id)
    if not package.exists():  # a finished one that was being deleted
        return OnePackage(status="loaded", has_data=False)
    placed = packages.normalized_packages.list_all_jobs_with_states(load_id)
    jobs: dict[str, tuple[str, int]] = {name.job_id(): (state, name.retry_count) for state, name in placed}
    assert len(jobs) == len(placed), "a job exists twice"
    return OnePackage(
        status=package.status,
        jobs=jobs,
        updates=package.schema_updates(),
        applied=package.applied_schema_updates(),
        counter=package.state().get("destination_state", {}).get("counter", 0),
        has_data=package.store.exists("data"),
    )
