"""Extracts two rows and suspends itself right before it marks its package: `suspended <folder>`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock
from penstock.package import Package

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_mark = Package.mark_extracted


def rows(cursor: Any = penstock.sources.incremental("id")) -> Iterator[dict[str, int]]:
    yield from ({"id": number} for number in (1, 2) if not cursor.last_value or number > cursor.last_value)


def pipeline_at(folder: Path) -> penstock.Pipeline:
    lake = penstock.destinations.filesystem(str(folder / "lake"))
    return penstock.pipeline("shop", pipelines_dir=folder / "disk", destination=lake, dataset_name="shop")


def extract(folder: Path) -> None:
    pipeline_at(folder).extract(penstock.resource(rows, name="items")())


def suspend(package: Package, document: Mapping[str, Any], *, epoch: int | None = None) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    _mark(package, document, epoch=epoch)


if __name__ == "__main__":
    Package.mark_extracted = suspend  # type: ignore[assignment,method-assign]  # in this process alone
    extract(Path(sys.argv[1]))
