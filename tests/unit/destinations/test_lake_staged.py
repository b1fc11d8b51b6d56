from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from penstock.destinations.lake.sets import Turns
from penstock.destinations.lake.staged import StagedPackage
from penstock.errors import InternalError
from penstock.interfaces import LoadMark
from penstock.package import DataFolder, JobFile, Package, ParsedLoadJobFileName
from penstock.package.projection import Level, Projection
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from pathlib import Path

MARK = LoadMark(pipeline_name="shop", sequence=3, load_id="1794700870.5", manifest_hash="abc")


def package_at(folder: Path) -> Package:
    package = Package(FileStorage(str(folder)), MARK.load_id)
    package.create()
    for table in ("items__tags", "items"):
        job = JobFile(
            name=ParsedLoadJobFileName(table, "x", 0, "reference"),
            load_id=MARK.load_id,
            package_path=package.path,
            data=DataFolder(path="data/normalized/a"),
            columns="id STRING",
            projection=Projection(levels=(Level(table="items"),)),
        )
        package.add_job(job)
    entries = [{"table": name, "job": f"{name}.x.0.reference"} for name in ("items__tags", "items")]
    package.mark_normalized({"tables": entries})
    return package


def test_from_one_job_file_the_whole_load_is_known(tmp_path: Path) -> None:
    package_at(tmp_path).mark_sealed(MARK)

    staged = StagedPackage(f"{tmp_path}/new_jobs/items__tags.x.0.reference")

    assert staged.tables == {"items", "items__tags"}
    assert staged.mark == MARK
    assert staged.created_at == "2026-11-15T00:01:10.500000+00:00"
    assert staged.store.root == str(tmp_path)


def test_nothing_is_committed_for_a_package_that_is_not_sealed(tmp_path: Path) -> None:
    package_at(tmp_path)

    with pytest.raises(InternalError, match="not part of a sealed load"):
        print(StagedPackage(f"{tmp_path}/new_jobs/items.x.0.reference").mark)  # noqa: T201 - asking is what fails


def test_one_table_of_a_chain_at_a_time_and_other_chains_meanwhile() -> None:
    turns, most, now, lock = Turns(), dict[str, int](), dict[str, int](), threading.Lock()
    together = threading.Barrier(2, timeout=120)

    def work(chain: str) -> None:
        with turns.taken(chain):
            with lock:
                now[chain] = now.get(chain, 0) + 1
                most[chain] = max(most.get(chain, 0), now[chain])
            time.sleep(0.01)
            with lock:
                now[chain] -= 1

    def meet(chain: str) -> None:
        with turns.taken(chain):
            together.wait()

    threads = [threading.Thread(target=work, args=(chain,)) for chain in ("a", "b") * 4]
    threads += [threading.Thread(target=meet, args=(chain,)) for chain in ("c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == {"a": 1, "b": 1}
    assert not together.broken
