"""Each safeguard is disabled in turn: the checks of the crash tests fail.

This shows that those checks can fail. `make crashes` runs these tests.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.flow.crashes.paused_run import run_with_pause
from tests.flow.crashes.recorded_load import RecordedLoad, at_length, of_each_lake, of_one_lake, problems
from tests.flow.crashes.shop import NAME, expire_lease, lake_of, pipeline_at, shop
from tests.flow.crashes.steps import ObservedTables, Step, Steps, recording_steps

from penstock.interfaces import AppliedJob, Destination, LoadMark
from penstock.package.local_files import LocalFiles
from penstock.pipeline import execution
from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

WRITES = ("append", "overwrite", "merge", "commit_job_files")


class UnmarkedTables:
    """Tables whose commits have unique numbers, so that none is skipped."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables

    def is_overwritten(self, *_: Any) -> bool:
        """Accept a commit without the mark of its load."""
        return False

    def __getattr__(self, name: str) -> Any:
        result = getattr(self._tables, name)
        if name not in WRITES:
            return result

        def write(*arguments: Any, **options: Any) -> Any:
            return result(*(_unmarked(argument) for argument in arguments), **options)

        return write


class MarksCheckedBefore:
    """Tables that check load marks only before a write, and not in the commit."""

    def __init__(self, tables: Any, steps: Steps, marks: Callable[..., Iterable[Any]]) -> None:
        self._tables, self._writing = tables, ObservedTables(UnmarkedTables(tables), steps)
        self._marks = marks

    def __getattr__(self, name: str) -> Any:
        if name not in WRITES:
            return getattr(self._tables, name)
        result = getattr(self._writing, name)

        def write(table: Any, *arguments: Any, spark: SparkSession, **options: Any) -> Any:
            (mark,) = (argument for argument in arguments if isinstance(argument, LoadMark))
            for sequence, _, version in self._marks(table.name, spark):
                if sequence == mark.sequence:
                    return AppliedJob(table=table.name, version_after=version, skipped=True)
            return result(table, *arguments, spark=spark, **options)

        return write


def _unmarked(argument: Any) -> Any:
    return replace(argument, pipeline_name=uuid4().hex) if isinstance(argument, LoadMark) else argument


def put(files: LocalFiles, path: str, content: bytes) -> bool:
    """Overwrite a file and report that it was created: the last writer wins."""
    files.put(path, content)
    return True


@at_length
@of_each_lake
@pytest.mark.parametrize("table", ["events", "orders__lines"])
def test_without_load_marks_a_table_gets_its_rows_twice(
    table: str, recorded: RecordedLoad, spark: SparkSession
) -> None:
    (step,) = recorded.matching(rf"^after (append|merge) {table}$")

    def unmarked(location: str) -> Destination:
        return recorded.lake.destination(location, UnmarkedTables)

    result = problems(recorded.image(step), spark, recorded.expected, destination=unmarked)

    assert any(options.startswith(f"{table} has ") for options in result), result


@at_length
@of_each_lake
def test_load_marks_checked_only_before_a_write_let_a_stalled_run_write_again(
    recorded: RecordedLoad, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, lake = recorded.from_base("checked-before"), recorded.lake

    def marks(table: str, spark: SparkSession) -> Iterable[Any]:
        return lake.marks(Path(lake_of(root)) / NAME, table, spark)

    def unsafe(steps: Steps, location: str) -> Destination:
        return lake.destination(location, lambda tables: MarksCheckedBefore(tables, steps, marks))

    def append_and_die() -> None:
        """Append and end the process; the package keeps its rows for the next run."""

        def die(step: Step) -> None:
            if step.what == "after append events":
                raise Crash

        steps = Steps(root, die)
        with recording_steps(steps), pytest.raises(Crash):
            pipeline_at(root, spark, destination=lake.destination_with_steps(steps, lake_of(root))).run(
                shop(2)
            )
        expire_lease(root)

    run_with_pause(root, "before append events", append_and_die, monkeypatch, spark, destination=unsafe)
    expire_lease(root)

    result = problems(root, spark, recorded.expected)
    assert "events has more than one content of load 2" in result
    assert any(item.startswith(("events has ", "chains of events")) for item in result)


@at_length
@of_one_lake
@pytest.mark.parametrize("safe", [True, False])
def test_without_put_if_absent_an_aborted_load_is_committed(
    recorded: RecordedLoad, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, safe: bool
) -> None:
    root = recorded.from_base(f"aborted-{safe}")
    if not safe:
        monkeypatch.setattr(LocalFiles, "put_if_absent", put)
    kind = "link" if safe else "rename"

    def abort() -> None:
        pipeline_at(root, spark, destination=recorded.lake, disk="other").drop_pending_packages()

    step = f"{kind} lake/shop/_dlt_pkg/shop/outcomes/<n>.json"
    run_with_pause(root, step, abort, monkeypatch, spark, destination=recorded.lake.destination_with_steps)
    monkeypatch.undo()

    result = problems(root, spark, recorded.expected)
    assert (result == []) is safe, result


@at_length
@of_one_lake
def test_without_put_if_absent_one_sequence_number_has_two_manifests(
    recorded: RecordedLoad, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = recorded.from_base("two-contents")
    monkeypatch.setattr(LocalFiles, "put_if_absent", put)
    # Each run normalizes the package itself: a stored result would have the same content.
    monkeypatch.setattr(execution, "load_normalized", lambda *_, **__: None)

    run_with_pause(
        root,
        "rename lake/shop/_dlt_pkg/shop/slots/<n>.json",
        partial(problems, root, spark, recorded.expected),
        monkeypatch,
        spark,
        destination=recorded.lake.destination_with_steps,
    )
    monkeypatch.undo()

    assert problems(root, spark, recorded.expected) != []
