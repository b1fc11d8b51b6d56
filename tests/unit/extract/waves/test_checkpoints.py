"""Checkpoints of waves are written once, and read by the run that resumes them."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.errors import PackageDamaged
from penstock.extract.waves.checkpoints import Wave, WaveCheckpoints, has_waves, resumable_packages
from penstock.extract.waves.split import split_flow
from penstock.package import Packages, create_load_id
from penstock.sources import flows_of

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.interfaces import Flow


def wave(number: int, *items: str) -> Wave:
    rows = {"rows": len(items)}
    return Wave(
        number=number,
        folder=f"data/waves/x/{number}",
        items=list(items),
        seconds=1.5,
        files=1,
        rows=rows,
        sizes=rows,
    )


def flow_of(data: Any, **bound: Any) -> Flow:
    (flow,) = flows_of(data(**bound))
    return flow


def things(item: int, region: str = "eu", key: str = "") -> Any:
    yield {"id": item, "region": region, "key": key}


def test_checkpoints_are_read_in_order_and_their_items_counted(tmp_path: Path) -> None:
    package = Packages.at(str(tmp_path)).package(create_load_id())
    checkpoints = WaveCheckpoints(package.store, "one")

    assert checkpoints.add(wave(0, "a", "b"))
    assert checkpoints.add(wave(1, "a"))

    reopened = WaveCheckpoints(package.store, "one")
    assert reopened.waves == checkpoints.waves
    assert reopened.done_counts() == {"a": 2, "b": 1}
    assert WaveCheckpoints(package.store, "another").waves == []


def test_a_wave_number_is_written_once(tmp_path: Path) -> None:
    package = Packages.at(str(tmp_path)).package(create_load_id())
    first, other = WaveCheckpoints(package.store, "one"), WaveCheckpoints(package.store, "one")

    assert first.add(wave(0, "a"))
    assert not other.add(wave(0, "b"))
    assert WaveCheckpoints(package.store, "one").done_counts() == {"a": 1}


@given(
    runs=st.lists(
        st.tuples(st.lists(st.sampled_from("abcde"), max_size=8), st.integers(1, 3), st.integers(0, 3)),
        max_size=5,
    )
)
def test_after_any_change_of_items_between_runs_each_counts_once(
    runs: list[tuple[list[str], int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = Packages.at(folder).package(create_load_id())
        for items, size, stops_after in [*runs, (["a", "b", "a"], 2, 99)]:
            checkpoints = WaveCheckpoints(package.store, "one")
            checkpoints.keep_wanted(Counter(items))
            pending = sorted((Counter(items) - checkpoints.done_counts()).elements())
            for first in list(range(0, len(pending), size))[:stops_after]:
                assert checkpoints.add(wave(checkpoints.next_number, *pending[first : first + size]))

            assert checkpoints.done_counts() <= Counter(items)
        assert checkpoints.done_counts() == {"a": 2, "b": 1}
        assert len(checkpoints.waves) <= checkpoints.next_number


def test_waves_with_items_that_are_still_wanted_are_kept(tmp_path: Path) -> None:
    package = Packages.at(str(tmp_path)).package(create_load_id())
    checkpoints = WaveCheckpoints(package.store, "one")
    for number, items in enumerate(("ab", "cd", "ef")):
        checkpoints.add(wave(number, *items))

    assert checkpoints.keep_wanted(Counter("abcefgh")) == 1
    assert [first.number for first in checkpoints.waves] == [0, 2]
    assert checkpoints.done_counts() == Counter("abef")
    assert checkpoints.next_number == 3


def test_a_gap_in_the_checkpoints_is_an_error(tmp_path: Path) -> None:
    package = Packages.at(str(tmp_path)).package(create_load_id())
    WaveCheckpoints(package.store, "one").add(wave(1, "a"))

    with pytest.raises(PackageDamaged, match="not wave 0"):
        WaveCheckpoints(package.store, "one")


def test_a_package_is_resumed_for_the_same_resource_with_the_same_arguments(tmp_path: Path) -> None:
    data = penstock.resource(things, work_items=range(3))
    packages = Packages.at(str(tmp_path))
    old, newer, other = (packages.package(f"{number}.0") for number in (1, 2, 3))
    (work,) = split_flow(flow_of(data), on_executors=True).wave_resources
    for package in (old, newer):
        WaveCheckpoints(package.store, work.identity).add(wave(0, "a"))
    other.store.put("waves/unknown/000000.json", b"{}")
    pending = [old, newer, other]

    assert resumable_packages([flow_of(data)], pending, on_executors=True) == [newer]
    assert resumable_packages([flow_of(data, region="us")], pending, on_executors=True) == [None]
    assert resumable_packages([flow_of(data.with_name("others"))], pending, on_executors=True) == [None]
    assert resumable_packages(
        [flow_of(penstock.resource([1], name="things").clone)], pending, on_executors=True
    ) == [None]
    assert has_waves(other.store)


def test_a_changed_secret_does_not_change_the_identity(tmp_path: Path) -> None:
    def asks(item: int, key: str = penstock.secrets.value) -> Any:
        yield {"id": item, "key": key}

    data = penstock.resource(asks, work_items=range(3))

    first, other = (
        split_flow(flow_of(data, key=key), on_executors=True).wave_resources[0]
        for key in ("sesame-1111", "sesame-2222")
    )

    assert first.identity == other.identity
