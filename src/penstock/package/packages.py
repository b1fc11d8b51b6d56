"""All packages of one pipeline in one dataset: their folders, their order and their decisions."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from penstock.errors import InternalError, LoadIsDecided, LoadPackageAborted, PackageDamaged
from penstock.package.ids import create_load_id
from penstock.package.layout import (
    DATA_FOLDER,
    FINISHED_STATUSES,
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

    from penstock.package.lease import LeaseTimes
    from penstock.package.manifest import Manifest
    from penstock.package.package import Package

_CHUNK_BYTES: Final = 8 * 1024 * 1024
_ACCEPTED_KEY: Final = "accepted"
_PENDING_STATUSES: Final[tuple[TLoadPackageStatus, ...]] = ("extracted", "normalized")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The retention of finished packages. The manifests in their slots are always kept.

    `data` keeps data files; `packages` is the number of finished packages whose control files are kept, None
    for all.
    """

    data: bool = False
    packages: int | None = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedLoad:
    """The load in the highest slot, and what remains to be done with it."""

    manifest: Manifest
    is_ended: bool = False
    """Whether nothing remains to be done."""
    abort: LoadDecision | None = None
    """The abort to complete; its facts describe what is to be undone."""

    @property
    def to_load(self) -> Manifest | None:
        """The manifest, if the load is to be rolled forward."""
        return None if self.is_ended or self.abort else self.manifest


@dataclass(frozen=True)
class Packages:
    """A folder with `packages/`, `slots/`, `outcomes/`, `lease/`, and the `cursors/` of extract."""

    store: FileStorage

    @staticmethod
    def at(root: str, **options: Any) -> Packages:
        """Return the packages below an address; `options` are those of the storage."""
        return Packages(FileStorage(root, **options))

    @cached_property
    def slots(self) -> Slots:
        """The order of sealed packages."""
        return Slots(self.store)

    @property
    def extracted_packages(self) -> PackageStorage:
        """Packages that are pending for normalize."""
        return self._storage("extracted")

    @property
    def normalized_packages(self) -> PackageStorage:
        """Packages that are pending for load, or are being loaded."""
        return self._storage("normalized")

    @property
    def loaded_packages(self) -> PackageStorage:
        """Finished packages, loaded or aborted."""
        return self._storage("loaded")

    def package(self, load_id: str) -> Package:
        """Return the package with that id, which need not exist."""
        return self.normalized_packages.package(load_id)

    def new_package(self) -> Package:
        """Return a new package, with an id after all existing ones."""
        return self.package(create_load_id(after=self.loaded_packages.newest_load_id()))

    def with_status(self, status: TLoadPackageStatus) -> list[Package]:
        """Return the packages with this status, oldest first, without those that were marked too late."""
        if status not in FINISHED_STATUSES:
            return self._unfinished_packages(status)
        return [self.package(load_id) for load_id in self.loaded_packages.list_packages_with_status(status)]

    def pending_packages(self) -> list[Package]:
        """Return the extracted and normalized packages, oldest first, without those marked too late."""
        return self._unfinished_packages(*_PENDING_STATUSES)

    def unfinished_packages(self) -> tuple[list[Package], list[Package]]:
        """Return the pending packages, and those whose extraction is not complete, oldest first."""
        statuses = self.loaded_packages.unfinished_statuses()
        accepted = self._split_by_fence([self.package(load_id) for load_id in statuses])[0]
        incomplete = [package for package in accepted if statuses[package.load_id] == "new"]
        pending = [package for package in accepted if statuses[package.load_id] in _PENDING_STATUSES]
        return pending, incomplete

    def planned_packages(self) -> list[Package]:
        """Return the packages that wait for `apply`, oldest first, without those marked too late."""
        return self._unfinished_packages("planned")

    def known_ids(self) -> frozenset[str]:
        """Return the load ids of all packages that are pending or finished."""
        pending = self.pending_packages()
        finished = self.loaded_packages.list_packages_with_status("loaded")
        return frozenset((*(package.load_id for package in pending), *finished))

    @contextmanager
    def lease(
        self,
        *,
        pipeline: str,
        times: LeaseTimes | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> Iterator[Lease]:
        """Hold the lease for the length of a block, with every earlier run fenced off.

        An earlier run may be stalled and not dead. Packages that it has marked so far count; those that it
        marks later do not, since this run works without them.
        """
        with hold_lease(self.store, pipeline=pipeline, times=times, on_lost=on_lost) as lease:
            # The first epoch has no earlier run.
            if lease.epoch > 1:
                self._fence_off_earlier_runs(lease)
            yield lease

    def _fence_off_earlier_runs(self, lease: Lease) -> None:
        # Planned packages too: once such a package is sealed, its marker of an earlier run must count.
        load_ids = self.normalized_packages.list_unfinished_packages(*_PENDING_STATUSES, "planned")
        accepted, late = self._split_by_fence([self.package(load_id) for load_id in load_ids])
        write_fence(self.store, lease.epoch, {_ACCEPTED_KEY: [package.load_id for package in accepted]})
        for package in late:
            lease.notes.append(
                f"package {package.load_id} is discarded: a run without a lease completed it after a later "
                "run had started, which extracts the same rows again"
            )
            package.delete()

    def _unfinished_packages(self, *statuses: TLoadPackageStatus) -> list[Package]:
        load_ids = self.loaded_packages.list_unfinished_packages(*statuses)
        return self._split_by_fence([self.package(load_id) for load_id in load_ids])[0]

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

        return (
            [package for package in pending if counts(package)],
            [package for package in pending if not counts(package)],
        )

    def last_sealed(self) -> Manifest | None:
        """Return the manifest in the highest slot, decided or not."""
        last = self.slots.last()
        return self.slots.read(last) if last else None

    def seal(self, manifest: Manifest, *, after: int | None = None) -> bool:
        """Seal the content of the next load. Idempotent.

        Return False when another run was first: with this number or a later one, with this package, or with a
        load that is not finished.

        `after` is the number of the last load, if the caller knows that it has ended. Return False if another
        load was sealed after it.
        """
        if not (self._may_seal(manifest, after) and self.slots.seal(manifest)):
            return False
        self.package(manifest.load_id).mark_sealed(manifest.mark)
        return True

    def commit(self, manifest: Manifest) -> None:
        """Commit the load; it can no longer be aborted and is always rolled forward."""
        decision = self._decide(manifest, "commit")
        if decision.decision == "abort":
            raise LoadPackageAborted(load_id=manifest.load_id, sequence=manifest.sequence, by=decision.by)

    def abort(self, manifest: Manifest, facts: Mapping[str, Any] | None = None) -> LoadDecision:
        """Abort a sealed load. Its slot remains taken and its package is kept.

        `facts` describe work to do before the package is finished: `last_load` has the abort until `finish`
        is called.
        """
        decision = self._decide(manifest, "abort", facts)
        if decision.decision == "commit":
            raise LoadIsDecided(load_id=manifest.load_id, sequence=manifest.sequence)
        if not decision.facts:
            self.finish(manifest.load_id, "aborted")
        return decision

    def last_load(self) -> SealedLoad | None:
        """Return the load in the highest slot; complete first what a crash interrupted."""
        manifest = self.last_sealed()
        return None if manifest is None else self._complete_sealed(manifest)

    def pending_load(self) -> Manifest | None:
        """Return the sealed load to roll forward, or None; complete first what a crash interrupted."""
        load = self.last_load()
        return None if load is None else load.to_load

    def finish(
        self, load_id: str, status: TLoadPackageStatus = "loaded", retention: Retention | None = None
    ) -> None:
        """Mark a package as finished and delete data that is not retained. Idempotent.

        The record of the finished package comes last: `apply_retention` finishes packages without it.
        """
        retained = retention or Retention()
        package = self.package(load_id)
        package.complete(status)
        if not retained.data and not package.jobs.has_failed():
            package.remove_data()
        self.loaded_packages.record_finished(load_id)

    def apply_retention(self, retention: Retention | None = None) -> None:
        """Finish packages that a crash left unrecorded, and delete the oldest beyond those retained."""
        retained = retention or Retention()
        recorded, unrecorded = self.loaded_packages.list_finished_packages()
        for load_id in unrecorded:
            self.finish(load_id, self.package(load_id).final_status() or "loaded", retained)
        finished = sorted((*recorded, *unrecorded))
        excess = 0 if retained.packages is None else max(0, len(finished) - retained.packages)
        last = self.last_sealed() if excess else None
        for load_id in finished[:excess]:
            is_last = last is not None and last.load_id == load_id
            if not is_last and not self.package(load_id).jobs.has_failed():
                self.loaded_packages.delete_package(load_id, not_exists_ok=True)

    def drop(self, load_id: str) -> TLoadPackageStatus | None:
        """Drop a pending package: delete it when it is not sealed (returns None), else abort it."""
        manifest = self.find_manifest(load_id)
        if manifest is None:
            self.loaded_packages.delete_package(load_id, not_exists_ok=True)
            return None
        self.abort(manifest)
        return "aborted"

    def unsealed_packages(self) -> list[Package]:
        """Return the pending packages without a slot, oldest first."""
        unfinished = self._unfinished_packages("new", *_PENDING_STATUSES)
        last = self.last_sealed() if unfinished else None
        return [package for package in unfinished if last is None or package.load_id != last.load_id]

    def drop_unsealed(self, from_load_id: str = "") -> None:
        """Delete packages without a slot, the newest first: each continues the one before it.

        Packages older than `from_load_id` are kept.
        """
        for package in reversed(self.unsealed_packages()):
            if package.load_id >= from_load_id:
                self.drop(package.load_id)

    def find_manifest(self, load_id: str) -> Manifest | None:
        """Return the manifest of a package, or None when it has no slot."""
        mark = self.package(load_id).load_mark()
        if mark is not None:
            return self._manifest_in_slot(load_id, mark.sequence)
        last = self.last_sealed()
        return last if last is not None and last.load_id == load_id else None

    def _manifest_in_slot(self, load_id: str, sequence: int) -> Manifest:
        """Return the manifest in a slot; a wrong mark must not make a sealed package look unsealed."""
        manifest = self.slots.read(sequence)
        if manifest is None or manifest.load_id != load_id:
            path = self.package(load_id).store.path(SEALED_FILE)
            raise PackageDamaged(path=path, reason=f"the package is not in slot {sequence}")
        return manifest

    def _may_seal(self, manifest: Manifest, after: int | None) -> bool:
        if not 1 <= manifest.sequence <= MAX_SEQUENCE:
            raise InternalError(f"{manifest.sequence} cannot be the number of a load", hint="report this")
        # A gap is right where slots were lost: the ledger has the used numbers.
        last = self.slots.last()
        if last >= manifest.sequence:
            return last == manifest.sequence  # its content decides
        if not (self._has_ended(last) if after is None else last == after):
            return False
        mark = self.package(manifest.load_id).load_mark()
        return mark is None or mark.sequence == manifest.sequence

    def _has_ended(self, sequence: int) -> bool:
        """Return whether nothing remains to be done with a load, or its slot is free."""
        manifest = self.slots.read(sequence) if sequence else None
        return manifest is None or self._complete_sealed(manifest).is_ended

    def _complete_sealed(self, manifest: Manifest) -> SealedLoad:
        """Complete the steps of a sealed load that a crash left out; return what remains to be done."""
        ended = SealedLoad(manifest=manifest, is_ended=True)
        package = self.package(manifest.load_id)
        decision = self.slots.find_decision(manifest.sequence)
        if frozenset(package.store.names("")) <= {SEALED_FILE}:
            # Deleted by hand, or before a late seal wrote its mark: its rows must not count later.
            self._decide(manifest, "abort")
            return ended
        if package.load_mark() is None:
            package.mark_sealed(manifest.mark)
        if package.final_status() is not None:
            return ended
        if decision is None or decision.decision == "commit":
            return SealedLoad(manifest=manifest)
        if decision.facts:
            return SealedLoad(manifest=manifest, abort=decision)
        self.finish(manifest.load_id, "aborted")
        return ended

    def _decide(
        self, manifest: Manifest, decision: DecisionKind, facts: Mapping[str, Any] | None = None
    ) -> LoadDecision:
        # The id makes the bytes of concurrent decisions differ.
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


def transfer_package(package: Package, target: Package, *, lease: Lease, is_transferred: bool) -> Package:
    """Move an extracted package to another storage; return the copy. Idempotent.

    `lease` is that of the target, and with `is_transferred` the copy already counts. Until its marker
    is written the original counts. A marker that is written after another run has taken over does not count,
    so the original is deleted only after the lease is confirmed.
    """
    if not is_transferred:
        if package.status == "new":  # the original would be deleted without a copy
            raise PackageDamaged(path=package.path, reason="it was not extracted completely")
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
        raise PackageDamaged(path=target.path(name), reason=f"{sizes[1]} of {sizes[0]} bytes were copied")
