"""One load of the shop, undisturbed, with an image of everything durable at each of its steps.

The image of a step is what a process that ends there leaves behind. So every step is tested by a new process,
with a separate disk, that continues from the image.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.conftest import SEED
from tests.flow.crashes.lakes import LAKES
from tests.flow.crashes.reader import Reader
from tests.flow.crashes.shop import (
    NAME,
    REQUESTED,
    TABLES,
    Content,
    comparable_content,
    content,
    done,
    image,
    lake_of,
    loads,
    packages_at,
    pipeline_at,
    shop,
)
from tests.flow.crashes.steps import Step, Steps, recording_steps

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession
    from tests.flow.crashes.lakes import Lake

    from penstock.interfaces import Destination

EACH_LAKE = tuple(os.environ.get("PENSTOCK_TEST_LAKES", ",".join(LAKES)).split(","))
"""The table formats to test."""
CHOSEN_LAKE = random.Random(f"{SEED} lake").choice(EACH_LAKE)
"""The one format that the seed chooses for a few steps: to record a load takes a while."""
of_each_lake = pytest.mark.parametrize("recorded", EACH_LAKE if REQUESTED else [CHOSEN_LAKE], indirect=True)
of_one_lake = pytest.mark.parametrize("recorded", ["delta" if REQUESTED else CHOSEN_LAKE], indirect=True)
"""For behaviour that all formats share."""
of_delta = pytest.mark.parametrize("recorded", ["delta"], indirect=True)
at_length = pytest.mark.skipif(not REQUESTED, reason="PENSTOCK_TEST_CRASHES says how many steps to try")


@dataclass(frozen=True)
class Expected:
    """The expected content of the tables."""

    lake: Lake
    loaded: list[str]
    tables: Content

    @staticmethod
    def at(root: Path, spark: SparkSession, lake: Lake) -> Expected:
        return Expected(lake, loads(root), content(root, spark, lake))


@dataclass(frozen=True)
class RecordedLoad:
    """A load: its steps with an image of each, the state before it, and the expected content."""

    folder: Path
    base: Path
    steps: tuple[Step, ...]
    first: Expected
    expected: Expected

    @property
    def lake(self) -> Lake:
        return self.expected.lake

    def image(self, step: Step) -> Path:
        """Copy the image of a step."""
        trials = len(list((self.folder / "trial").iterdir()))
        return self.trial(self.folder / "images" / str(step.number), f"{step.number}-{trials}")

    def from_base(self, name: str) -> Path:
        return self.trial(self.base, name)

    def trial(self, image: Path, name: str) -> Path:
        """Copy an image to a new address, or to the only one at which its tables can be read."""
        if self.lake.can_move:
            return Path(shutil.copytree(image, self.folder / "trial" / name))
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        return Path(shutil.copytree(image, root))

    def reader(self, root: Path, spark: SparkSession) -> Reader:
        """Return a reader that runs beside a trial."""
        return Reader(
            root,
            spark,
            self.lake,
            [comparable_content(item.tables, item.loaded)["chains"] for item in (self.first, self.expected)],
        )

    def first_of_each_kind(self) -> list[Step]:
        return of_each_kind(self.steps)

    def matching(self, pattern: str) -> list[Step]:
        return [step for step in self.steps if re.search(pattern, step.what)]


def record(folder: Path, spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> RecordedLoad:
    """Load a batch, and the next one with an image at each step; one job at a time, for a stable order."""
    root, base = folder / "root", folder / "base"
    (folder / "images").mkdir(parents=True)
    (folder / "trial").mkdir()
    pipeline_at(root, spark, destination=lake).run(shop(1))
    first = Expected.at(root, spark, lake)
    image(root, base)

    def keep(step: Step) -> None:
        image(root, folder / "images" / str(step.number))

    steps = Steps(root, keep)
    with monkeypatch.context() as patch, recording_steps(steps):
        patch.setenv("LOAD__WORKERS", "1")
        pipeline_at(root, spark, destination=lake.destination_with_steps(steps, lake_of(root))).run(shop(2))
    return RecordedLoad(folder, base, tuple(steps.seen), first, Expected.at(root, spark, lake))


def of_each_kind(steps: Iterable[Step]) -> list[Step]:
    """Return the first step of each kind."""
    return list({step.kind: step for step in reversed([*steps])}.values())[::-1]


def chosen(steps: Sequence[Step], few: int) -> list[Step]:
    """Return the steps to test: as many as requested, the same ones for one seed."""
    if REQUESTED:
        words, _, part = REQUESTED.rpartition(":") if "/" in REQUESTED else (REQUESTED, "", "1/1")
        number, parts = (int(item) for item in part.split("/"))
        return (of_each_kind(steps) if words == "kinds" else list(steps))[number - 1 :: parts]
    picked = random.Random(SEED).sample(range(len(steps)), min(few, len(steps)))
    return [steps[number] for number in sorted(picked)]


def problems(
    root: Path,
    spark: SparkSession,
    expected: Expected,
    *,
    disk: str = "disk",
    destination: Callable[[str], Destination] | None = None,
) -> list[str]:
    """Continue in a new process; return every difference from a load without the crash."""
    given = destination(lake_of(root)) if destination else expected.lake
    try:
        pipeline_at(root, spark, destination=given, disk=disk).run(shop(2))
    except PenstockError as error:
        return [f"the next run fails: {error.message}"]
    return differences(root, spark, expected)


def differences(root: Path, spark: SparkSession, expected: Expected) -> list[str]:
    """Return every difference from the expected content after both loads."""
    lake = expected.lake
    result = Expected.at(root, spark, lake)
    packages = packages_at(root)
    options = [
        *_if(len(result.loaded) != 2, f"{len(result.loaded)} loads are complete"),
        *_if(set(done(root).values()) != {2}, f"the state has {done(root)}"),
        *_if(bool(packages.unsealed_packages()), "packages are pending"),
        *_if(packages.pending_load() is not None, "a load is pending"),
        *[
            f"{table} has more than one content of load {number}"
            for table, number in contents_of(root, spark, lake)
        ],
    ]
    if result.loaded == expected.loaded:
        tables = [name for name in TABLES if result.tables.get(name) != expected.tables[name]]
        return options + [f"{name} has {result.tables.get(name)}" for name in tables]
    if len(result.loaded) != len(expected.loaded):
        return options
    actual, dlt_result = (
        comparable_content(result.tables, result.loaded),
        comparable_content(expected.tables, expected.loaded),
    )
    return options + [
        f"{what} of {name}: {actual[what].get(name)}"
        for what in dlt_result
        for name in dlt_result[what]
        if actual[what].get(name) != dlt_result[what][name]
    ]


def contents_of(root: Path, spark: SparkSession, lake: Lake) -> Iterable[tuple[str, int]]:
    """Yield tables with a load whose commit differs from its slot or exists twice."""
    slots = packages_at(root).slots
    for table in TABLES:
        marks = list(lake.marks(Path(lake_of(root)) / NAME, table, spark))
        counts = Counter(sequence for sequence, _, _ in marks)
        for sequence, manifest, _ in marks:
            sealed = slots.read(sequence)
            if counts[sequence] > 1 or sealed is None or sealed.content_hash != manifest:
                yield table, sequence


def _if(condition: bool, options: str) -> list[str]:
    return [options] if condition else []
