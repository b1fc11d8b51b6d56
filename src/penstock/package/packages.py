"""All packages of one pipeline in one dataset: where they stand, in which order they load, how they end."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

from penstock.errors import InternalError, LoadIsDecided, LoadPackageAborted, PackageDamaged
from penstock.package.ids import create_load_id
from penstock.package.layout import (
    DATA_FOLDER,
    FAILED_JOBS,
    PACKAGES_FOLDER,
    SEALED_FILE,
    STATE_FILE,
    TLoadPackageStatus,
)
from penstock.package.lease import Lease, hold_lease, read_fence, write_fence
from penstock.package.package_storage import PackageStorage
from penstock.package.slots import MAX_SEQUENCE, DecisionKind, LoadDecision, Slots
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from penstock.interfaces import LoadMark
    from penstock.package.lease import LeaseTimes
    from penstock.package.manifest import Manifest
    from penstock.package.package import Package

_CHUNK_BYTES: Final = 8 * 1024 * 1024
_ACCEPTED_KEY: Final = "accepted"
_UNSEALED_STATUSES: Final[tuple[TLoadPackageStatus, ...]] = ("new", "extracted", "normalized")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What is kept of finished packages. Manifests stay in their slots, whatever is set here.

    `packages` is the number of finished packages whose control files are kept, None for all of them.
    """

    data: bool = False
    packages: int | None = 100


@dataclass(frozen=True)
class Packages:
    """A folder with `packages/`, `slots/`, `outcomes/` and `lease/`; extract keeps `cursors/` beside them."""

    store: FileStorage

    @staticmethod
    def at(root: str, **options: Any) -> Packages:
        """The packages below an address; `options` are those of the storage."""
        return Packages(FileStorage(root, **options))

    @cached_property
    def slots(self) -> Slots:
        """The order of sealed packages."""
        return Slots(self.store)

    @property
    def extracted_packages(self) -> PackageStorage:
        """Packages that wait to be normalized."""
        return self._storage("extracted")

    @property
    def normalized_packages(self) -> PackageStorage:
        """Packages that wait to be loaded, or are being loaded."""
        return self._storage("normalized")

    @property
    def loaded_packages(self) -> PackageStorage:
        """Packages that are finished, loaded or aborted."""
        return self._storage("loaded")

    def package(self, load_id: str) -> Package:
        """The package with that id, there or not yet."""
        return self.normalized_packages.package(load_id)

    def new_package(self) -> Package:
        """A package that is not there yet; its id is later than those of all that are."""
        return self.package(create_load_id(after=self.loaded_packages.newest_load_id()))

    def with_status(self, status: TLoadPackageStatus) -> list[Package]:
        """Packages that have come exactly so far, oldest first, without those that were marked too late."""
        packages = [self.package(load_id) for load_id in self._storage(status).list_packages()]
        return self._split_by_fence(packages)[0] if status in {"extracted", "normalized"} else packages

    def known_ids(self) -> frozenset[str]:
        """Return the load ids of all packages that are pending or finished."""
        pending = [*self.with_status("extracted"), *self.with_status("normalized")]
        return frozenset((*(package.load_id for package in pending), *self.loaded_packages.list_packages()))

    @contextmanager
    def lease(
        self,
        *,
        pipeline: str,
        times: LeaseTimes | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> Iterator[Lease]:
        """Hold the lease for the time of a block, with every earlier run fenced off.

        Earlier runs may be stalled and not dead. Packages that are marked now count; what an earlier run
        marks from here on does not, as this run works without it.
        """
        with hold_lease(self.store, pipeline=pipeline, times=times, on_lost=on_lost) as lease:
            # Before the first epoch there was no run that could be late.
            if lease.epoch > 1:
                self._fence_off_earlier_runs(lease)
            yield lease

    def _fence_off_earlier_runs(self, lease: Lease) -> None:
        pending = [self.package(load_id) for load_id in self.normalized_packages.list_pending_packages()]
        accepted, late = self._split_by_fence(pending)
        write_fence(self.store, lease.epoch, {_ACCEPTED_KEY: [package.load_id for package in accepted]})
        for package in late:
            lease.notes.append(
                f"package {package.load_id} is discarded: a run that had lost its lease completed it after a "
                "later run had begun, which reads the same rows again"
            )
            package.delete()

    def _split_by_fence(self, pending: Sequence[Package]) -> tuple[list[Package], list[Package]]:
        """Split pending packages into those that count and those whose marker was written too late.

        A marker counts when its run was not fenced off, or when the run that fenced it off saw the marker.
        """
        if not pending:
            return [], []
        epoch, fence = read_fence(self.store)
        accepted = fence.get(_ACCEPTED_KEY, ())

        def counts(package: Package) -> bool:
            written = package.extract_epoch()
            return written is None or written >= epoch or package.load_id in accepted

        return [one for one in pending if counts(one)], [one for one in pending if not counts(one)]

    def last_sealed(self) -> Manifest | None:
        """The manifest in the highest slot, decided or not."""
        last = self.slots.last()
        return self.slots.read(last) if last else None

    def seal(self, manifest: Manifest) -> bool:
        """Decide the content of the next load.

        False when another run was first: with this number or a later one, with this package, or with a load
        that is not finished yet.
        """
        if not (self._may_seal(manifest) and self.slots.seal(manifest)):
            return False
        self.package(manifest.load_id).mark_sealed(manifest.mark)
        return True

    def commit(self, manifest: Manifest) -> None:
        """Decide that a sealed load counts. From here on it is rolled forward and cannot be aborted."""
        standing = self._decide(manifest, "commit")
        if standing.decision == "abort":
            raise LoadPackageAborted(load_id=manifest.load_id, sequence=manifest.sequence, by=standing.by)

    def abort(self, manifest: Manifest, facts: Mapping[str, Any] | None = None) -> LoadDecision:
        """Decide that a sealed load will never count. Its slot stays used, its package is kept.

        With `facts` there is something to be done before the package is finished, and they say what: then
        `to_take_back` gives it until `finish` is called.
        """
        standing = self._decide(manifest, "abort", facts)
        if standing.decision == "commit":
            raise LoadIsDecided(load_id=manifest.load_id, sequence=manifest.sequence)
        if not standing.facts:
            self.finish(manifest.load_id, "aborted")
        return standing

    def pending_load(self) -> Manifest | None:
        """The sealed load that is not finished, or None. What a crash left half done is done here first."""
        manifest = self.last_sealed()
        return manifest if manifest is not None and self._sealed_load_state(manifest) == "open" else None

    def pending_abort(self) -> tuple[Manifest, LoadDecision] | None:
        """The load that was aborted with facts and is not finished, or None."""
        manifest = self.last_sealed()
        if manifest is None or self._sealed_load_state(manifest) != "aborted":
            return None
        outcome = self.slots.find_decision(manifest.sequence)
        return None if outcome is None else (manifest, outcome)

    def finish(
        self, load_id: str, status: TLoadPackageStatus = "loaded", retention: Retention | None = None
    ) -> None:
        """Mark a package as finished and let go of what it needs no more; safe to call again.

        The note among the finished comes last: a package without it is looked into again by `tidy`.
        """
        rules = retention or Retention()
        package = self.package(load_id)
        package.complete(status)
        if not rules.data and not package.jobs.list_jobs().in_state(FAILED_JOBS):
            package.remove_data()
        self.loaded_packages.record_finished(load_id)

    def apply_retention(self, retention: Retention | None = None) -> None:
        """Finish what a crash left of finished packages, and drop the oldest beyond those that are kept."""
        rules = retention or Retention()
        for load_id in self.loaded_packages.list_unrecorded_packages():
            self.finish(load_id, self.package(load_id).final_status() or "loaded", rules)
        finished = self.loaded_packages.list_packages()
        beyond = 0 if rules.packages is None else max(0, len(finished) - rules.packages)
        last = self.last_sealed() if beyond else None
        for load_id in finished[:beyond]:
            is_last = last is not None and last.load_id == load_id
            if not is_last and not self.package(load_id).jobs.list_jobs().in_state(FAILED_JOBS):
                self.loaded_packages.delete_package(load_id, not_exists_ok=True)

    def drop(self, load_id: str) -> TLoadPackageStatus | None:
        """Give a pending package up: deleted when it is not sealed (None), else aborted."""
        manifest = self.find_manifest(load_id)
        if manifest is None:
            self.loaded_packages.delete_package(load_id, not_exists_ok=True)
            return None
        self.abort(manifest)
        return "aborted"

    def unsealed_packages(self) -> list[Package]:
        """Packages that wait and have no slot, oldest first."""
        last = self.last_sealed()
        found = [package for status in _UNSEALED_STATUSES for package in self.with_status(status)]
        others = [package for package in found if last is None or package.load_id != last.load_id]
        return sorted(others, key=lambda package: package.load_id)

    def drop_unsealed(self) -> None:
        """Delete packages without a slot, the newest first: each goes on from the one before it."""
        for package in reversed(self.unsealed_packages()):
            self.drop(package.load_id)

    def find_manifest(self, load_id: str) -> Manifest | None:
        """The manifest of a package, or None when it has no slot."""
        mark = self.package(load_id).load_mark()
        if mark is not None:
            return self._manifest_in_slot(load_id, mark.sequence)
        last = self.last_sealed()
        return last if last is not None and last.load_id == load_id else None

    def _manifest_in_slot(self, load_id: str, sequence: int) -> Manifest:
        """What is sealed must not pass for unsealed because its mark points elsewhere."""
        found = self.slots.read(sequence)
        if found is None or found.load_id != load_id:
            path = self.package(load_id).store.path(SEALED_FILE)
            raise PackageDamaged(path=path, reason=f"the package does not stand in slot {sequence}")
        return found

    def _may_seal(self, manifest: Manifest) -> bool:
        if not 1 <= manifest.sequence <= MAX_SEQUENCE:
            raise InternalError(f"{manifest.sequence} cannot be the number of a load", hint="report this")
        # More than one behind is right where slots were lost: the ledger knows the numbers that were used.
        last = self.slots.last()
        if last >= manifest.sequence:
            return last == manifest.sequence  # what stands there decides
        before = self.slots.read(last) if last else None
        if before is not None and self._sealed_load_state(before) != "ended":
            return False
        mark = self.package(manifest.load_id).load_mark()
        return mark is None or mark.sequence == manifest.sequence

    def _sealed_load_state(self, manifest: Manifest) -> Literal["open", "aborted", "ended"]:
        """What a sealed load waits for: to be rolled forward, taken back, or nothing.

        Steps that a crash left out are done first.
        """
        package = self.package(manifest.load_id)
        outcome = self.slots.find_decision(manifest.sequence)
        if frozenset(package.store.names("")) <= {SEALED_FILE}:
            # Deleted by hand, or before a late seal noted its slot there: its rows must not count later.
            self._decide(manifest, "abort")
            return "ended"
        if package.load_mark() is None:
            package.mark_sealed(manifest.mark)
        if package.final_status() is not None:
            return "ended"
        if outcome is None or outcome.decision == "commit":
            return "open"
        if outcome.facts:
            return "aborted"
        self.finish(manifest.load_id, "aborted")
        return "ended"

    def _decide(
        self, manifest: Manifest, decision: DecisionKind, facts: Mapping[str, Any] | None = None
    ) -> LoadDecision:
        # Who decides is part of the record: two deciders never write the same bytes.
        return self.slots.decide(
            LoadDecision(
                sequence=manifest.sequence,
                load_id=manifest.load_id,
                decision=decision,
                by=uuid4().hex,
                facts=dict(facts or {}),
            )
        )

    def _storage(self, status: TLoadPackageStatus) -> PackageStorage:
        return PackageStorage(self.store.subfolder(PACKAGES_FOLDER), status)


def sealed_manifest(package: Package, mark: LoadMark) -> Manifest:
    """Read what a package was sealed with from its slot: nothing written into its folder changes it."""
    root = package.store.with_root(package.store.root.removesuffix(f"/{PACKAGES_FOLDER}/{package.load_id}"))
    manifest = Slots(root).read(mark.sequence)
    if manifest is None or manifest.mark != mark:
        path = package.store.path(SEALED_FILE)
        raise PackageDamaged(path=path, reason=f"slot {mark.sequence} has another load")
    return manifest


def transfer_package(package: Package, target: Package, *, lease: Lease, is_transferred: bool) -> Package:
    """Copy a package that was extracted where executors do not see it, then delete it; return the copy.

    `lease` is that of the target, and `is_there` says whether the target counts already. Safe to call again:
    until the copy's marker counts the original does. A marker that is written after another run has taken
    over does not count, so the original is deleted only once the lease is confirmed.
    """
    if not is_transferred:
        if package.status == "new":  # what follows would delete the only copy
            raise PackageDamaged(path=package.path, reason="it was not extracted to its end")
        for name in _list_data_files(package.store, DATA_FOLDER):
            _copy_file(package.store, target.store, name)
        state = package.store.read(STATE_FILE)
        if state is not None:
            target.store.put(STATE_FILE, state)
        lease.check()
        target.mark_extracted(package.read_extracted(), epoch=lease.epoch)
        lease.confirm()
    package.delete()
    return target


def _list_data_files(storage: FileStorage, folder: str) -> Iterator[str]:
    for entry in storage.entries(folder):
        name = f"{folder}/{entry.name}"
        if entry.is_folder:
            yield from _list_data_files(storage, name)
        else:
            yield name


def _copy_file(source: FileStorage, target: FileStorage, name: str) -> None:
    with source.open(name) as rows, target.open_new(name) as copy:
        shutil.copyfileobj(rows, copy, _CHUNK_BYTES)
    sizes = [storage.size(name) for storage in (source, target)]
    if sizes[0] != sizes[1]:
        raise PackageDamaged(path=target.path(name), reason=f"{sizes[1]} of {sizes[0]} bytes arrived")
