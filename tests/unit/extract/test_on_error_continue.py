"""With `on_error="continue"` a resource that raises is excluded, and the others are extracted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recording_collector import RecordingCollector
from tests.unit.extract.extraction import extract_data, table_rows

import penstock
from penstock.errors import ResourceFailed, RowNotEncodable
from penstock.extract.plan import Rotation, Workload
from penstock.package import Package, Packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.extract.run import ExtractResult

CONTINUE = Workload(on_error="continue")


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def breaking(name: str, *, after: int, table: str | None = None, parallel: bool = False) -> Any:
    def rows() -> Iterator[Any]:
        for number in range(after):
            yield {"n": number, "of": name}
        raise KeyError(name)

    resource = penstock.resource(rows, name=name, table_name=table, write_disposition="append")
    return resource.parallelize() if parallel else resource


def complete(name: str, *, rows: int, table: str | None = None) -> Any:
    return penstock.resource([{"n": n, "of": name} for n in range(rows)], name=name, table_name=table)


@pytest.mark.parametrize("parallel", [False, True])
def test_other_resources_continue_and_the_failure_is_reported(package: Package, parallel: bool) -> None:
    done = extract_data(
        [breaking("bad", after=2, parallel=parallel), complete("good", rows=3)], package, workload=CONTINUE
    )

    assert {name: len(rows) for name, rows in table_rows(package, done).items()} == {"good": 3}
    assert done.report.resources == {"bad": 0, "good": 3}
    assert isinstance(done.report.failures["bad"], ResourceFailed)
    assert (done.report.failures["bad"].item, done.report.failures["bad"].cause) == (3, "KeyError('bad')")
    assert "- bad was excluded: bad raised KeyError('bad') at item 3" in str(done.report)
    assert list(done.extracted.declared_tables) == ["good"]


def test_the_collector_receives_row_counts_and_excluded_resources(package: Package) -> None:
    collector = RecordingCollector()
    data = [breaking("bad", after=2), complete("good", rows=3)]

    extract_data(data, package, workload=CONTINUE, collector=collector)

    assert collector.counts["good"] == 3
    assert collector.states == {"bad": ["left out"]}
    assert collector.messages == ["bad raised KeyError('bad') at item 3"]


def test_a_shared_table_lacks_only_the_rows_of_the_failed_resource(package: Package) -> None:
    tiny = Rotation(row_group_rows=2, file_bytes=1)

    done = extract_data(
        [breaking("bad", after=5, table="both"), complete("good", rows=5, table="both")],
        package,
        workload=CONTINUE,
        rotation=tiny,
    )

    assert [row["of"] for row in table_rows(package, done)["both"]] == ["good"] * 5
    (table,) = done.extracted.tables
    assert (table.rows, table.files, table.resource) == (5, 3, "good")
    assert set(done.extracted.declared_tables) == {"both"}


def test_transformers_of_a_failed_resource_are_excluded_and_its_parent_is_not(package: Package) -> None:
    @penstock.transformer
    def breaks(item: dict[str, Any]) -> dict[str, Any]:
        if item["n"] == 2:
            raise KeyError("two")
        return item

    @penstock.transformer
    def after(item: dict[str, Any]) -> dict[str, Any]:
        return item

    feeding = complete("feeding", rows=4)
    middle = feeding | breaks

    done = extract_data([feeding, middle, middle | after], package, workload=CONTINUE)

    assert {name: len(rows) for name, rows in table_rows(package, done).items()} == {"feeding": 4}
    assert set(done.report.failures) == {"breaks", "after"}


def test_a_parent_that_feeds_only_a_failed_resource_is_not_read_to_its_end(package: Package) -> None:
    drawn: list[int] = []

    @penstock.resource(selected=False)
    def feeding() -> Iterator[int]:
        for number in range(100):
            drawn.append(number)
            yield number

    @penstock.transformer(data_from=feeding)
    def breaks(item: int) -> int:
        raise KeyError(item)

    extract_data([breaks(), complete("good", rows=1)], package, workload=CONTINUE)

    assert drawn == [0]


def test_the_state_of_a_failed_resource_is_restored(package: Package) -> None:
    @penstock.resource
    def bad() -> Iterator[Any]:
        penstock.current.resource_state()["last"] = 5
        yield {"n": 5}
        raise KeyError("bad")

    @penstock.resource
    def good() -> Iterator[Any]:
        penstock.current.resource_state()["last"] = 6
        yield {"n": 6}

    state = {"sources": {"shop": {"resources": {"bad": {"last": 4}, "good": {"last": 4}}}}}

    done = extract_data([bad, good], package, state=state, workload=CONTINUE)

    assert done.extracted.state is not None
    assert done.extracted.state["shop"]["resources"] == {"bad": {"last": 4}, "good": {"last": 6}}


def test_the_cursor_of_a_failed_resource_does_not_advance(package: Package) -> None:
    @penstock.resource
    def bad(at: Any = penstock.sources.incremental("n")) -> Iterator[Any]:
        yield {"n": 7}
        raise KeyError("bad")

    cursor: dict[str, Any] = {"initial_value": None, "last_value": 4, "unique_hashes": []}
    state = {"sources": {"shop": {"resources": {"bad": {"incremental": {"n": cursor}}}}}}

    done = extract_data([bad, complete("good", rows=1)], package, state=state, workload=CONTINUE)

    assert done.extracted.state is not None
    assert done.extracted.state["shop"]["resources"]["bad"]["incremental"]["n"]["last_value"] == 4


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_parent_whose_cursor_advanced_past_items_of_a_failed_transformer_is_excluded(
    package: Package, is_loaded: bool
) -> None:
    @penstock.resource(selected=is_loaded)
    def feeding(at: Any = penstock.sources.incremental("n")) -> Iterator[Any]:
        penstock.current.resource_state()["last"] = 7
        yield from ({"n": number} for number in range(5, 8))

    @penstock.transformer(data_from=feeding)
    def breaks(item: dict[str, Any]) -> dict[str, Any]:
        if item["n"] == 7:
            raise KeyError("seven")
        return item

    @penstock.transformer(data_from=feeding)
    def complete_child(item: dict[str, Any]) -> dict[str, Any]:
        return item

    cursor: dict[str, Any] = {"initial_value": None, "last_value": 4, "unique_hashes": []}
    memory = {"feeding": {"incremental": {"n": cursor}}}
    state: dict[str, Any] = {"sources": {"shop": {"resources": memory}}}
    chosen = [feeding, breaks, complete_child] if is_loaded else [breaks, complete_child]

    done = extract_data([*chosen, complete("good", rows=1)], package, state=state, workload=CONTINUE)

    assert set(table_rows(package, done)) == {"good"}
    assert set(done.report.failures) == {"feeding", "breaks", "complete_child"}
    assert done.extracted.state is not None
    assert done.extracted.state["shop"]["resources"]["feeding"]["incremental"]["n"]["last_value"] == 4
    assert "last" not in done.extracted.state["shop"]["resources"]["feeding"]


def test_an_error_in_a_row_or_a_table_name_is_a_failure_of_its_resource(package: Package) -> None:
    named = penstock.resource([{"n": 1}], name="named", table_name=lambda row: row["missing"])
    odd = penstock.resource([{"n": 1}, {"n": 1j}], name="odd")
    strict = Workload(on_error="continue", on_bad_row="fail")

    done = extract_data([named, odd, complete("good", rows=1)], package, workload=strict)

    assert {name: type(why) for name, why in done.report.failures.items()} == {
        "named": ResourceFailed,
        "odd": RowNotEncodable,
    }
    assert list(table_rows(package, done)) == ["good"]


def test_a_failure_of_all_resources_is_an_error(package: Package) -> None:
    with pytest.raises(ResourceFailed) as raised:
        extract_data([breaking("a", after=0), breaking("b", after=1)], package, workload=CONTINUE)

    assert raised.value.__notes__ == ["all resources failed; also: b raised KeyError('b') at item 2"]


@given(ends=st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.sampled_from("xy")), min_size=1))
def test_any_failures_leave_the_rows_of_other_resources_complete(
    tmp_path_factory: pytest.TempPathFactory, ends: list[tuple[int, bool, str]]
) -> None:
    package = Packages.at(str(tmp_path_factory.mktemp("going"))).package("17.5")
    resources = [
        breaking(f"r{at}", after=rows, table=table) if breaks else complete(f"r{at}", rows=rows, table=table)
        for at, (rows, breaks, table) in enumerate(ends)
    ]
    expected = sorted(
        f"r{at}" for at, (rows, breaks, _) in enumerate(ends) if not breaks for _ in range(rows)
    )

    def run() -> ExtractResult:
        return extract_data(resources, package, workload=CONTINUE, rotation=Rotation(row_group_rows=2))

    if all(breaks for _, breaks, _ in ends):
        with pytest.raises(ResourceFailed):
            run()
        return
    done = run()
    origins = [row["of"] for rows in table_rows(package, done).values() for row in rows]
    assert sorted(origins) == expected
    assert sum(table.rows for table in done.extracted.tables) == len(expected)
