"""With `commit_interval` a flow fills several packages, each with the state after its last row."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.extraction import table_rows

import penstock
from penstock.errors import ResourceFailed, UsageError
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.plan import Workload
from penstock.extract.run import Extractor, ExtractResult
from penstock.interfaces.run_context import current_context, item_digest
from penstock.package import Packages, package_context
from penstock.schema import naming_convention
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


def slices(
    data: Any, folder: Path, *, state: dict[str, Any] | None = None, interval: float = 0.0, **hints: Any
) -> list[tuple[ExtractResult, dict[str, list[Any]]]]:
    """Return the result and the rows of every package."""
    workload = hints.pop("workload", Workload())
    (flow,) = flows_of(data, **hints)
    packages = Packages.at(str(folder))
    results: list[tuple[ExtractResult, dict[str, list[Any]]]] = []
    with Extractor(
        flow,
        schema_name="shop",
        naming=naming_convention(),
        state={} if state is None else state,
        workload=workload,
        commit_interval=interval,
    ) as extractor:
        while not extractor.is_done:
            package = packages.package(f"17.{len(results) + 1}")
            with package_context(package):
                done = extractor.extract_into(package)
            results.append((done, table_rows(package, done)))
    return results


def last_of(done: ExtractResult, name: str) -> Any:
    assert done.extracted.state is not None
    return done.extracted.state["shop"]["resources"][name]["last"]


@penstock.resource
def counted(most: int = 4) -> Iterator[Any]:
    state = penstock.current.resource_state()
    for number in range(most):
        state["last"] = number
        yield {"n": number}


def test_each_package_has_its_rows_and_the_state_after_them(tmp_path: Path) -> None:
    results = slices(counted(), tmp_path)

    assert [rows.get("counted") for _, rows in results] == [
        [{"n": 0}],
        [{"n": 1}],
        [{"n": 2}],
        [{"n": 3}],
        None,
    ]
    assert [last_of(done, "counted") for done, _ in results] == [0, 1, 2, 3, 3]
    assert not results[-1][0].has_changes


def test_a_long_interval_is_one_package(tmp_path: Path) -> None:
    ((done, rows),) = slices(counted(), tmp_path, interval=3600.0)

    assert len(rows["counted"]) == 4
    assert last_of(done, "counted") == 3


def test_items_of_inner_generators_are_in_the_package_of_their_item(tmp_path: Path) -> None:
    @penstock.transformer
    def parts(item: dict[str, Any]) -> Iterator[Any]:
        for part in range(3):
            yield {"n": item["n"], "part": part}

    results = slices(counted() | parts, tmp_path)

    assert [len(rows.get("parts", [])) for _, rows in results] == [3, 3, 3, 3, 0]
    assert [last_of(done, "counted") for done, _ in results][:4] == [0, 1, 2, 3]


@given(most=st.integers(0, 12), threads=st.integers(1, 4))
def test_the_state_never_runs_ahead_of_the_rows_of_threads(
    tmp_path_factory: pytest.TempPathFactory, most: int, threads: int
) -> None:
    @penstock.resource(parallelized=True)
    def first() -> Iterator[Any]:
        yield from counting("first", most)

    @penstock.resource(parallelized=True)
    def second() -> Iterator[Any]:
        yield from counting("second", most)

    def counting(name: str, most: int) -> Iterator[Any]:
        state = penstock.current.resource_state(name)
        for number in range(most):
            state["last"] = number
            yield {"n": number}

    results = slices([first, second], tmp_path_factory.mktemp("cut"), workload=Workload(workers=threads))

    last_seen = {"first": -1, "second": -1}
    for done, rows in results:
        for name, before in tuple(last_seen.items()):
            last_seen[name] = after = before + len(rows.get(name, []))
            if after >= 0:
                assert last_of(done, name) == after
    assert set(last_seen.values()) == {most - 1}


def test_asynchronous_generators_are_divided_into_packages(tmp_path: Path) -> None:
    @penstock.resource
    async def later() -> AsyncIterator[Any]:
        for number in range(3):
            penstock.current.resource_state()["last"] = number
            await asyncio.sleep(0)
            yield {"n": number}

    results = slices(later, tmp_path)

    assert [last_of(done, "later") for done, rows in results if rows] == [0, 1, 2]


def test_user_code_sees_the_current_package(tmp_path: Path) -> None:
    @penstock.resource
    def asking() -> Iterator[Any]:
        for _ in range(3):
            yield {"load_id": penstock.current.load_package_state()["load_id"]}

    results = slices(asking, tmp_path)

    assert [rows["asking"] for _, rows in results if rows] == [
        [{"load_id": "17.1"}],
        [{"load_id": "17.2"}],
        [{"load_id": "17.3"}],
    ]


def test_replace_and_scd2_are_refused_with_a_commit_interval(tmp_path: Path) -> None:
    for disposition in ("replace", {"disposition": "merge", "strategy": "scd2"}):
        with pytest.raises(UsageError, match="commit_interval makes several"):
            slices([{"n": 1}], tmp_path, table_name="items", write_disposition=disposition)


def test_a_failure_excludes_the_rows_since_the_last_package(tmp_path: Path) -> None:
    @penstock.resource
    def bad() -> Iterator[Any]:
        state = penstock.current.resource_state()
        for number in range(3):
            state["last"] = number
            if number == 2:
                raise KeyError("two")
            yield {"n": number}

    results = slices([bad, counted(5)], tmp_path, workload=Workload(on_error="continue"))

    assert [row["n"] for _, rows in results for row in rows.get("bad", [])] == [0, 1]
    assert last_of(results[-1][0], "bad") == 1
    assert [name for done, _ in results for name in done.report.failures] == ["bad"]


def test_items_of_a_failed_resource_are_in_no_later_package(tmp_path: Path) -> None:
    @penstock.resource
    def bad(at: Any = penstock.sources.incremental("n", initial_value=-1)) -> Iterator[Any]:
        moment = current_context()
        assert moment.open_seen_set is not None
        last_seen = moment.open_seen_set("bad", "_files")
        for number in range(3):
            last_seen.add(item_digest(number))
            if number == 2:
                raise KeyError("two")
            yield {"n": number}

    state: dict[str, Any] = {}
    results = slices([bad, counted(6)], tmp_path, state=state, workload=Workload(on_error="continue"))

    assert [row["n"] for _, rows in results for row in rows.get("bad", [])] == [0, 1]
    again = Cursors(state, source="shop").seen_items("bad", "_files")
    assert [again.contains(item_digest(number)) for number in range(3)] == [True, True, False]
    assert state["sources"]["shop"]["resources"]["bad"]["incremental"]["n"]["last_value"] == 1


def test_the_parent_of_a_failed_resource_is_not_read_for_later_packages(tmp_path: Path) -> None:
    @penstock.transformer
    def breaks(item: dict[str, Any]) -> dict[str, Any]:
        if item["n"] == 2:
            raise KeyError("two")
        return item

    feeding = counted(6)
    results = slices(
        [feeding, feeding | breaks, counted(9).with_name("other")],
        tmp_path,
        workload=Workload(on_error="continue"),
    )

    for name in ("counted", "breaks"):
        assert [row["n"] for _, rows in results for row in rows.get(name, [])] == [0, 1]
    assert last_of(results[-1][0], "counted") == 1
    assert last_of(results[-1][0], "other") == 8
    assert [name for done, _ in results for name in done.report.failures] == ["breaks", "counted"]


def test_generators_are_closed_without_a_next_package(tmp_path: Path) -> None:
    closed: list[float] = []

    @penstock.resource
    def endless() -> Iterator[Any]:
        try:
            while True:
                yield {"n": 1}
        finally:
            closed.append(time.monotonic())

    (flow,) = flows_of(endless())
    with Extractor(
        flow, schema_name="shop", naming=naming_convention(), state={}, commit_interval=0.0
    ) as extractor:
        extractor.extract_into(Packages.at(str(tmp_path)).package("17.1"))
        assert not closed

    assert closed


def test_an_error_ends_extraction_after_the_complete_packages(tmp_path: Path) -> None:
    @penstock.resource
    def bad() -> Iterator[Any]:
        yield {"n": 1}
        raise KeyError("bad")

    with pytest.raises(ResourceFailed):
        slices(bad, tmp_path)


def test_a_refresh_is_aborted_when_a_resource_fails_in_a_later_package(tmp_path: Path) -> None:
    @penstock.resource
    def bad() -> Iterator[Any]:
        yield {"n": 1}
        yield {"n": 2}
        raise KeyError("bad")

    left_out = Workload(on_error="continue")
    assert len(slices([counted(), bad()], tmp_path / "as ever", workload=left_out)) > 1

    with pytest.raises(ResourceFailed):
        slices([counted(), bad()], tmp_path, workload=left_out, refresh="drop_resources")


def test_the_cursor_in_each_package_is_at_its_last_row(tmp_path: Path) -> None:
    @penstock.resource
    def moving(at: Any = penstock.sources.incremental("n", initial_value=-1)) -> Iterator[Any]:
        for number in range(at.last_value + 1, 5):
            yield [{"n": number, "part": part} for part in range(2)]

    results = slices(moving, tmp_path)

    for done, rows in results:
        assert done.extracted.state is not None
        cursor = done.extracted.state["shop"]["resources"]["moving"]["incremental"]["n"]
        assert cursor["last_value"] == (rows["moving"][-1]["n"] if rows else 4)
        assert len(cursor["unique_hashes"]) == 2
    assert [row["n"] for _, rows in results for row in rows.get("moving", [])] == sorted([*range(5)] * 2)
