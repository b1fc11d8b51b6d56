from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.package.ids import create_load_id, file_id


def test_ids_grow_strictly_as_numbers_and_as_texts() -> None:
    ids = [create_load_id() for _ in range(100_000)]

    assert all(before < after for before, after in pairwise(ids))
    assert all(float(before) < float(after) for before, after in pairwise(ids))


def test_ids_are_unique_and_increasing_across_threads() -> None:
    def draw(_: int) -> list[str]:
        return [create_load_id() for _ in range(20_000)]

    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(draw, range(8)))

    assert all(ids == sorted(ids) for ids in drawn)
    assert len({load_id for ids in drawn for load_id in ids}) == 160_000


def test_an_id_is_the_time_in_microseconds() -> None:
    load_id = create_load_id()

    assert re.fullmatch(r"\d{10}\.\d{6}", load_id)
    assert abs(float(load_id) - time.time()) < 60


@given(st.lists(st.text("ab", max_size=3), max_size=3))
def test_a_file_id_depends_on_its_parts_and_their_boundaries(parts: list[str]) -> None:
    assert re.fullmatch(r"[0-9a-f]{10}", file_id(*parts))
    assert file_id(*parts) == file_id(*parts)
    assert file_id(*parts, "a", "b") != file_id(*parts, "ab")


@given(st.integers(0, 10**12), st.text("0123456789", min_size=1, max_size=9))
def test_an_id_is_later_than_the_one_it_comes_after(seconds: int, fraction: str) -> None:
    after = f"{max(10**9, seconds % 10**10)}.{fraction}"

    assert create_load_id(after=after) > after


def test_an_id_in_the_future_does_not_affect_later_ids() -> None:
    create_load_id(after="4102444800.5")

    assert float(create_load_id()) == pytest.approx(time.time(), abs=60)


def test_an_id_that_is_not_a_time_is_ignored() -> None:
    assert float(create_load_id(after="zzz")) == pytest.approx(time.time(), abs=60)
