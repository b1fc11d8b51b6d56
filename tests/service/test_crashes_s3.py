"""Loads into a real object store die at steps and end as one that does not, in all three kinds of tables.

`PENSTOCK_TEST_CRASHES` says which steps: nothing for one, `all`, or `kinds:2/3`.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes import plainshop, shop
from tests.flow.crashes.lakes import LAKES
from tests.flow.crashes.recorded import chosen
from tests.flow.crashes.steps import Step, Steps
from tests.service.bucket import jdbc_catalog, keys

import penstock
from penstock.package import FileStorage, Packages
from penstock.package.objects import ObjectFiles
from penstock.testing.promises import Crash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

CHANGES = ("put", "put_if_absent", "move", "copy", "delete", "open_new")


@contextmanager
def watched(steps: Steps) -> Iterator[None]:
    """Stop before each change that the driver makes in the store."""
    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGES:
            patch.setattr(ObjectFiles, name, _stopping(name, getattr(ObjectFiles, name), steps))
        yield


def _stopping(name: str, call: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    def stopping(files: ObjectFiles, path: str, *arguments: Any) -> Any:
        if not path.endswith(".beat"):
            steps.reach(f"{name} {path}")
        return call(files, path, *arguments)

    return stopping


def run(
    kind: str, at: str, spark: SparkSession, disk: Path, upto: int, steps: Steps | None = None
) -> penstock.Pipeline:
    """One run of a new object; the steps of it where somebody watches."""
    if kind == "files":
        lake = penstock.destinations.filesystem(at, credentials=keys())
    else:
        # A catalog of files is refused in a bucket.
        said = {"credentials": keys(), **(jdbc_catalog(at) if kind == "iceberg" else {})}
        of_kind = LAKES[kind]
        lake = of_kind.watched(steps, at, **said) if steps else of_kind.destination(at, **said)
    pipeline = penstock.pipeline(
        shop.NAME, pipelines_dir=disk, destination=lake, dataset_name=shop.NAME, spark=spark
    )
    pipeline.run(plainshop.shop(upto) if kind == "files" else shop.shop(upto))
    return pipeline


def seen(kind: str, pipeline: penstock.Pipeline) -> Any:
    dataset = pipeline.dataset()
    if kind == "files":
        tables = [name for name in plainshop.TABLES if name in dataset.tables]
        return plainshop.told({name: dataset[name].arrow().to_pylist() for name in tables})
    frames = {table: dataset[table].spark() for table in shop.TABLES}
    return shop.told(shop.rows_of(frames), dataset.load_ids())


@pytest.mark.parametrize("kind", [*LAKES, "files"])
@pytest.mark.at_length
def test_a_load_in_a_bucket_that_dies_ends_as_one_that_does_not(
    kind: str,
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    begun = begin(kind, f"{location}/begun", spark, tmp_path / "begun")
    begun(f"{location}/whole", tmp_path / "whole")
    steps = Steps(tmp_path, lambda step: None)
    with watched(steps):
        expected = seen(kind, run(kind, f"{location}/whole", spark, tmp_path / "whole", 2, steps))

    tried = chosen(steps.seen, few=1)
    wrong = {}
    for step in tried:
        at, disk = f"{location}/{step.number}", tmp_path / str(step.number)
        begun(at, disk)
        found = after_a_crash(kind, at, spark, disk, step)
        if found != expected:
            wrong[f"{step.number} {step.what}"] = found

    with capsys.disabled():
        print(f"\n{kind} on S3: {len(tried)} of {len(steps.seen)} points, {len(wrong)} wrong")  # noqa: T201 - figures
    assert not wrong


def begin(kind: str, begun: str, spark: SparkSession, disk: Path) -> Callable[[str, Path], object]:
    """A way to have the first load at a place: a copy of it, where the tables of a copy are tables.

    Iceberg's name their files by the whole path.
    """
    if kind == "iceberg":
        return lambda at, disk: run(kind, at, spark, disk, 1)
    run(kind, begun, spark, disk, 1)
    source = FileStorage(begun, credentials=keys())

    def copy(at: str, other: Path) -> None:
        source.system.copy(source.root, FileStorage(at, credentials=keys()).root, recursive=True)
        shutil.copytree(disk, other)

    return copy


def after_a_crash(kind: str, at: str, spark: SparkSession, disk: Path, step: Step) -> Any:
    """Die at a step, and let a new process on another disk go on."""

    def die(reached: Step) -> None:
        if reached.number >= step.number:
            raise Crash

    steps = Steps(disk, die)
    with watched(steps), pytest.raises(Crash):
        run(kind, at, spark, disk, 2, steps)
    shop.bury_holder(Packages.at(f"{at}/{shop.NAME}/_dlt_pkg/{shop.NAME}", credentials=keys()))
    return seen(kind, run(kind, at, spark, disk / "another", 2))
