"""Cursor boundary files are transferred with their packages, and kept while a pending package uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import penstock
from penstock.extract.cursor.plan import MAX_HASHES_PER_CURSOR
from penstock.package import Packages
from penstock.package.file_ledger import FileLedger
from penstock.pipeline.boundaries import remove_old_boundaries
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.unbound_packages import UnboundPackages
from penstock.pipeline.workdir import WorkDir

if TYPE_CHECKING:
    from pathlib import Path

MANY = MAX_HASHES_PER_CURSOR + 1


def days(day: str) -> Any:
    rows = [{"id": number, "day": day} for number in range(MANY)]
    cursor = penstock.sources.incremental("day")
    return penstock.resource([rows], name="days", primary_key="id", incremental=cursor)


def test_boundary_files_are_transferred_with_unbound_packages(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    pipeline.extract(days("2024-01-01"))
    assert pipeline.extract(days("2024-01-01")).packages == ()
    pipeline.extract(days("2024-01-02"))
    context = PipelineContext(pipeline_name="shop", dataset_name="shop", workdir=WorkDir(tmp_path / "shop"))
    unbound = UnboundPackages(context)
    unbound_packages, target = unbound.packages, Packages.at(str(tmp_path / "lake"))
    files = unbound_packages.store.names("cursors")

    with target.lease(pipeline="shop") as lease:
        ledger = FileLedger(target.store.subfolder("ledger"))
        carried = unbound.transfer_to(target, lease=lease, ledger=ledger)

    assert (len(carried), len(files)) == (2, 2)
    assert (unbound_packages.store.names("cursors"), target.store.names("cursors")) == ([], files)
    assert remove_old_boundaries(target, lambda: {"sources": {}}, upto=carried[-1]) == []
    assert target.store.names("cursors") == files
