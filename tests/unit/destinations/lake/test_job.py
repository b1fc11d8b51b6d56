from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.destinations.chains import nested_table, root_table

from penstock.destinations.lake.job import StagedPackage, TableLoadJob
from penstock.destinations.lake.merge_sets import ChainLocks, MergeSets
from penstock.destinations.lake.run import ChainLoad
from penstock.errors import InternalError, SchemaCorruptedException
from penstock.interfaces import AppliedJob
from penstock.package import (
    DataFolder,
    FileStorage,
    JobFile,
    Manifest,
    Package,
    Packages,
    ParsedLoadJobFileName,
    TableEntry,
)
from penstock.package.projection.model import Level, Projection

if TYPE_CHECKING:
    from pathlib import Path


COMMIT = AppliedJob(table="items__tags", version_before=3, version_after=4)
REFUSAL = SchemaCorruptedException(table="items", reason="so")
PATH = "started_jobs/items.x.0.reference"


def run_job(job: TableLoadJob, *commits: AppliedJob, error: Exception | None = None) -> None:
    with job.partial_failure():
        for commit in commits:
            job.record(commit)
        if error is not None:
            raise error


def test_a_completed_job_reports_its_commits() -> None:
    job = TableLoadJob(PATH)

    run_job(job, COMMIT)

    assert (job.state(), job.exception(), job.applied()) == ("completed", "", (COMMIT,))


def test_a_job_that_is_refused_after_a_commit_fails_and_reports_the_commit() -> None:
    job = TableLoadJob(PATH)

    run_job(job, COMMIT, error=REFUSAL)

    assert (job.state(), job.applied()) == ("failed", (COMMIT,))
    assert job.exception().startswith("invalid schema of table items: so")


@pytest.mark.parametrize(
    ("commits", "error"),
    [((), REFUSAL), ((COMMIT,), ConnectionError("gone"))],
    ids=["no commit was made", "a retry may succeed"],
)
def test_every_other_error_is_raised(commits: tuple[AppliedJob, ...], error: Exception) -> None:
    with pytest.raises(type(error)):
        run_job(TableLoadJob(PATH), *commits, error=error)


LOAD_ID = "1794700870.5"
TABLES = ("items__tags", "items")


def manifest(attempt: str) -> Manifest:
    return Manifest(
        load_id=LOAD_ID,
        sequence=3,
        pipeline_name="shop",
        dataset_name="lake",
        schema_name="shop",
        tables=tuple(
            TableEntry(table=name, job=f"{name}.{attempt}.0.reference", write_disposition="merge")
            for name in TABLES
        ),
        schema_before=None,
        schema={},
        state={},
    )


def package_at(folder: Path) -> Package:
    package = Packages.at(str(folder)).package(LOAD_ID)
    package.create()
    package.mark_extracted({})
    for table in TABLES:
        job = JobFile(
            name=ParsedLoadJobFileName(table, "x", 0, "reference"),
            load_id=LOAD_ID,
            package_path=package.path,
            data=DataFolder(path="data/normalized/a"),
            columns="id STRING",
            projection=Projection(levels=(Level(table="items"),)),
        )
        package.add_job(job)
    package.mark_normalized({"tables": [asdict(entry) for entry in manifest("x").tables]})
    return package


def test_a_job_file_leads_to_the_complete_load(tmp_path: Path) -> None:
    package, sealed = package_at(tmp_path), manifest("x")
    Packages.at(str(tmp_path)).seal(sealed)

    staged = StagedPackage(f"{package.path}/new_jobs/items__tags.x.0.reference")

    assert staged.tables == {"items", "items__tags"}
    assert staged.mark == sealed.mark
    assert staged.created_at == "2026-11-15T00:01:10.500000+00:00"
    assert staged.store.root == package.path


def test_jobs_that_a_late_run_adds_to_a_sealed_package_are_ignored(tmp_path: Path) -> None:
    package = package_at(tmp_path)
    Packages.at(str(tmp_path)).seal(manifest("x"))

    package.mark_normalized({"tables": [asdict(entry) for entry in manifest("late").tables]})
    staged = StagedPackage(f"{package.path}/new_jobs/items.x.0.reference")

    assert staged._jobs == {"items__tags": "items__tags.x.0.reference", "items": "items.x.0.reference"}


def test_a_package_that_is_not_sealed_is_not_loaded(tmp_path: Path) -> None:
    package = package_at(tmp_path)

    with pytest.raises(InternalError, match="not part of a sealed load"):
        print(StagedPackage(f"{package.path}/new_jobs/items.x.0.reference").mark)  # noqa: T201 - asking is what fails


def test_a_chain_lock_excludes_its_own_chain_only() -> None:
    locks, most, now, lock = ChainLocks(), dict[str, int](), dict[str, int](), threading.Lock()
    barrier = threading.Barrier(2, timeout=120)

    def hold_and_count(chain: str) -> None:
        with locks.hold(chain):
            with lock:
                now[chain] = now.get(chain, 0) + 1
                most[chain] = max(most.get(chain, 0), now[chain])
            time.sleep(0.01)
            with lock:
                now[chain] -= 1

    def hold_together(chain: str) -> None:
        with locks.hold(chain):
            barrier.wait()

    threads = [threading.Thread(target=hold_and_count, args=(chain,)) for chain in ("a", "b") * 4]
    threads += [threading.Thread(target=hold_together, args=(chain,)) for chain in ("c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == {"a": 1, "b": 1}
    assert not barrier.broken


def test_two_chains_compute_their_merge_sets_in_parallel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier, locks = threading.Barrier(2, timeout=60), ChainLocks()

    def compute_sets(_: ChainLoad) -> MergeSets:
        barrier.wait()
        return MergeSets(sets={}, ranges=())

    monkeypatch.setattr(ChainLoad, "_compute_sets", compute_sets)
    schema = {table.name: table for table in (root_table(), nested_table("items__tags"))}

    def load_sets(number: int) -> MergeSets:
        store = FileStorage(str(tmp_path / str(number)))
        staged: Any = SimpleNamespace(tables=frozenset(schema), store=store)
        target: Any = SimpleNamespace(can_merge_from_itself=True)
        spark: Any = None
        chain = ChainLoad(
            root="items", schema=schema, staged=staged, target=target, chain_locks=locks, spark=spark
        )
        return chain._merge_sets

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(load_sets, range(2))) == [MergeSets(sets={}, ranges=())] * 2
