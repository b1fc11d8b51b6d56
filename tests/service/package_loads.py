"""Package loads as runs make them: restarted from the storage after every retryable error."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.unit.package.package_model import manifest_of, observed

from penstock.errors import PipelineLocked, RetryableError, SlotTaken
from penstock.interfaces.ledger import CommitRecord, StateInfo, StorageSchemaInfo
from penstock.package import FileStorage, Packages
from penstock.package.file_ledger import FileLedger
from penstock.package.lease import LeaseTimes, hold_lease

if TYPE_CHECKING:
    from penstock.package import Manifest
    from penstock.package.lease import Lease

JOB = "items.5c1c2f0d11.0.reference"
TIMES = LeaseTimes(beat=0.5, alive=5.0)
TIME_LIMIT = 120.0
HASH = "aGFzaA=="


@dataclass
class Dataset:
    """Packages and ledger of one dataset over one connection, and the errors on the way."""

    root: str
    options: dict[str, Any]
    errors: Counter[str] = field(default_factory=Counter)
    messages: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        storage = FileStorage(self.root, **self.options)
        self.packages, self.ledger = (
            Packages(storage.subfolder("packages")),
            FileLedger(storage.subfolder("lake")),
        )

    def load(self, load_id: str) -> None:
        """Run until the load is complete, like a user who calls `run` again after an error."""
        until = time.monotonic() + TIME_LIMIT
        while True:
            try:
                with hold_lease(self.packages.store, pipeline="shop", times=TIMES) as lease:
                    self._run(load_id, lease)
            except RetryableError as error:
                self.errors[type(error).__name__] += 1
                self.messages.add(str(error))
                assert time.monotonic() < until, f"{load_id} does not end: {self.errors}"
                time.sleep(0.3 if isinstance(error, PipelineLocked) else 0.0)
            else:
                return

    def _run(self, load_id: str, lease: Lease) -> None:
        self.ledger.initialize()
        while (pending := self.packages.pending_load()) is not None:
            self._roll_forward(pending, lease)
        if self.ledger.find_commit(schema_name="shop", load_id=load_id) is None:
            self._roll_forward(self._sealed(load_id, lease), lease)
        self.packages.apply_retention()

    def _sealed(self, load_id: str, lease: Lease) -> Manifest:
        package = self.packages.package(load_id)
        package.store.put("data/raw/part", load_id.encode() * 1000)
        package.jobs.add(JOB, b"{}")
        self.packages.normalized_packages.create_package(load_id)
        manifest = manifest_of(load_id, self.packages.slots.last() + 1)
        lease.check()
        if not self.packages.seal(manifest):
            raise SlotTaken(pipeline="shop", sequence=manifest.sequence)
        return manifest

    def _roll_forward(self, manifest: Manifest, lease: Lease) -> None:
        storage, load_id = self.packages.normalized_packages, manifest.load_id
        for path in storage.list_new_jobs(load_id):
            storage.start_job(load_id, path.rsplit("/", 1)[-1])
        for path in storage.list_started_jobs(load_id):
            storage.complete_job(load_id, path.rsplit("/", 1)[-1], {"rows": 1})
        lease.check()
        self.packages.commit(manifest)
        self.ledger.store_schema(StorageSchemaInfo(HASH, "shop", 1, 11, datetime.now(UTC), "{}"))
        state = StateInfo(manifest.sequence, 4, "shop", "{}", datetime.now(UTC), HASH, load_id)
        self.ledger.store_state(state, schema_hash=HASH)
        self.ledger.commit(
            CommitRecord(
                load_id=load_id,
                schema_name="shop",
                schema_version_hash=HASH,
                inserted_at=datetime.now(UTC).isoformat(),
                pipeline_name="shop",
                sequence=manifest.sequence,
            )
        )
        self.packages.finish(load_id)


def check_loads(dataset: Dataset, load_ids: list[str]) -> None:
    """Check that every load is complete once, in one slot, and that nothing is pending."""
    packages, ledger = dataset.packages, dataset.ledger
    state = observed(packages)
    assert sorted(state.slots) == sorted(load_ids)
    assert state.outcomes == dict.fromkeys(range(1, len(load_ids) + 1), "commit")
    # Processes take the slots in any order; the ledger keeps the order in which loads became complete.
    assert [load.load_id for load in ledger.complete_loads()] == state.slots
    for sequence, load_id in enumerate(state.slots, start=1):
        commit = ledger.find_commit(schema_name="shop", load_id=load_id)
        assert commit is not None
        assert commit.sequence == sequence
        package = state.packages[load_id]
        assert (package.status, package.has_data) == ("loaded", False)
        assert package.jobs == {"items.5c1c2f0d11.reference": ("completed_jobs", 0)}
        assert packages.normalized_packages.completed_results(load_id) == {
            "items.5c1c2f0d11.reference": {"rows": 1}
        }
    assert packages.pending_load() is None
    assert packages.unsealed_packages() == []
    last = ledger.last_state("shop")
    assert last is not None
    assert last.load_id == state.slots[-1]
