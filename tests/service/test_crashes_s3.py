"""Loads into a real object store die at steps and end as one that does not, in all three kinds of tables.

`PENSTOCK_TEST_CRASHES` says which steps: nothing for one, `all`, `kinds:2/3` for a third of the kinds.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.crashes import plainshop, shop
from tests.flow.crashes.lakes import LAKES
from tests.flow.crashes.recorded import chosen
from tests.flow.crashes.steps import Step, Steps
from tests.service.bucket import jdbc_catalog, keys

import penstock
from penstock.package import Packages
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
def test_a_load_in_a_bucket_that_dies_ends_as_one_that_does_not(
    kind: str,
    spark: SparkSession,
    location: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOAD__WORKERS", "1")
    run(kind, f"{location}/whole", spark, tmp_path / "whole", 1)
    steps = Steps(tmp_path, lambda step: None)
    with watched(steps):
        expected = seen(kind, run(kind, f"{location}/whole", spark, tmp_path / "whole", 2, steps))

    tried = chosen(steps.seen, few=1)
    wrong = {}
    for step in tried:
        found = after_a_crash(kind, f"{location}/{step.number}", spark, tmp_path / str(step.number), step)
        if found != expected:
            wrong[f"{step.number} {step.what}"] = found

    with capsys.disabled():
        print(f"\n{kind} on S3: {len(tried)} of {len(steps.seen)} points, {len(wrong)} wrong")  # noqa: T201 - figures
    assert not wrong


def after_a_crash(kind: str, at: str, spark: SparkSession, disk: Path, step: Step) -> Any:
    """Die at a step, and let a new process on another disk go on."""
    run(kind, at, spark, disk / "here", 1)

    def die(reached: Step) -> None:
        if reached.number >= step.number:
            raise Crash

    steps = Steps(disk, die)
    with watched(steps), pytest.raises(Crash):
        run(kind, at, spark, disk / "here", 2, steps)
    shop.bury_holder(Packages.at(f"{at}/{shop.NAME}/_dlt_pkg/{shop.NAME}", credentials=keys()))
    return seen(kind, run(kind, at, spark, disk / "there", 2))
