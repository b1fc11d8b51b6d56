from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.cursor.pipeline_runs import Runs

import penstock
from penstock.errors import BoundaryDamaged
from penstock.extract.cursor.boundary_files import copy_referenced_files, remove_unreferenced_files
from penstock.extract.cursor.digest import (
    digest_from_text,
    digest_to_text,
    has_old_digests,
    new_digest,
    old_digest,
)
from penstock.extract.cursor.hashset import CompactHashSet
from penstock.extract.cursor.plan import MAX_HASHES_IN_STATE, MAX_HASHES_PER_CURSOR, cursors_to_move_out
from penstock.package import FileStorage
from penstock.schema.frozen_map import freeze

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MEGABYTE = 1_000_000
MANY = MAX_HASHES_PER_CURSOR + 500
DIGESTS = st.lists(st.binary(min_size=9, max_size=9), max_size=200)


def days(count: int, *, day: str = "2024-01-01", first: int = 0) -> Any:
    rows = [{"id": number, "day": day} for number in range(first, first + count)]
    return penstock.resource(
        [rows], name="days", primary_key="id", incremental=penstock.sources.incremental("day")
    )


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@given(DIGESTS, DIGESTS)
def test_a_compact_hash_set_behaves_like_a_set(digests: list[bytes], lookups: list[bytes]) -> None:
    hashes = CompactHashSet()
    hashes.update(digests)

    assert [digest in hashes for digest in lookups] == [digest in set(digests) for digest in lookups]
    assert (len(hashes), list(hashes)) == (len(set(digests)), sorted(set(digests)))


@given(DIGESTS, st.booleans())
def test_a_compact_hash_set_reads_back_as_written(digests: list[bytes], old: bool) -> None:
    hashes = CompactHashSet(old_format=old)
    hashes.update(digests)

    read, digest = CompactHashSet.read(io.BytesIO(b"".join(hashes.chunks())))

    assert (list(read), read.is_old_format, digest) == (list(hashes), old, hashes.content_digest())


@given(DIGESTS, DIGESTS)
def test_compact_hash_sets_merge(some: list[bytes], others: list[bytes]) -> None:
    first, second = CompactHashSet(), CompactHashSet()
    first.update(some)
    second.update(others)

    first.merge(second)

    assert list(first) == sorted({*some, *others})


@given(DIGESTS, st.data())
def test_a_truncated_or_changed_file_is_detected(digests: list[bytes], data: st.DataObject) -> None:
    hashes = CompactHashSet()
    hashes.update(digests)
    content = b"".join(hashes.chunks())
    cut = data.draw(st.integers(0, len(content) - 1))
    at = data.draw(st.integers(0, len(content) - 1))
    changed = content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :]

    with pytest.raises(ValueError, match="it is"):
        CompactHashSet.read(io.BytesIO(content[:cut]))
    assert changed_is_seen(changed, hashes.content_digest())


def changed_is_seen(content: bytes, digest: str) -> bool:
    try:
        return CompactHashSet.read(io.BytesIO(content))[1] != digest
    except ValueError:
        return True


@pytest.mark.parametrize(
    ("value", "new", "old"), [(1, "669czW83KR00", "669czW83KR00ut4bv/U5"), (2, "Tp44cKMYfAuJ", None)]
)
def test_hashes_are_those_of_dlt(value: int, new: str, old: str | None) -> None:
    assert digest_to_text(new_digest(value)) == new
    assert old is None or digest_to_text(old_digest(value)) == old
    assert has_old_digests([digest_from_text(text) for text in (old,) if text]) == (old is not None)


@pytest.mark.parametrize("count", [MAX_HASHES_PER_CURSOR, MANY])
def test_a_second_run_finds_no_new_rows(runs: Runs, count: int) -> None:
    first, second = len(runs(days(count))), len(runs(days(count)))

    assert (first, second) == (count, 0)
    assert len(json.dumps(runs.sources)) < MEGABYTE
    assert bool(runs.files) == (count > MAX_HASHES_PER_CURSOR)


def test_the_state_refers_to_the_file_and_its_content(runs: Runs) -> None:
    runs(days(MANY))

    entry = runs.entry("days", "day")
    (name,) = runs.files
    reference = entry["unique_hashes_file"]
    assert (entry["unique_hashes"], reference["name"], reference["count"]) == ([], name, MANY)
    assert reference["last_value"] == entry["last_value"] == "2024-01-01"


def test_hashes_of_later_rows_are_stored_in_the_state_until_its_limit(runs: Runs) -> None:
    runs(days(MANY))
    before = runs.files

    later = [runs(days(MANY + 3)), runs(days(MANY + 3))]
    entry = runs.entry("days", "day")
    files_between = runs.files
    assert [len(rows) for rows in later] == [3, 0]
    assert (len(entry["unique_hashes"]), files_between) == (3, before)

    assert len(runs(days(2 * MANY))) == MANY - 3
    assert len(runs(days(2 * MANY))) == 0
    reference = runs.entry("days", "day")["unique_hashes_file"]
    assert (reference["count"], runs.entry("days", "day")["unique_hashes"]) == (2 * MANY, [])


def test_a_later_value_drops_the_reference_to_the_file(runs: Runs) -> None:
    runs(days(MANY))

    assert len(runs(days(2, day="2024-01-02"))) == 2
    entry = runs.entry("days", "day")
    assert "unique_hashes_file" not in entry
    assert len(entry["unique_hashes"]) == 2


def test_a_run_with_earlier_values_keeps_the_file_without_reading_it(runs: Runs) -> None:
    runs(days(MANY))
    before = runs.entry("days", "day")
    runs.packages.store.delete("cursors")

    assert runs(days(3, day="2023-12-31")) == []
    assert runs.entry("days", "day") == before


@pytest.mark.parametrize("damage", ["gone", "cut", "other"])
def test_a_damaged_file_is_an_error_with_a_way_out(runs: Runs, damage: str) -> None:
    runs(days(MANY))
    (name,) = runs.files
    store = runs.packages.store.subfolder("cursors")
    content = store.read(name)
    assert content is not None
    store.delete(name)
    if damage == "cut":
        store.put(name, content[:-3])
    elif damage == "other":
        store.put(name, b"".join(CompactHashSet().chunks()))

    with pytest.raises(BoundaryDamaged, match="day") as raised:
        runs(days(MANY))

    assert name in raised.value.path
    assert "primary_key=()" in raised.value.hint
    incremental = penstock.sources.incremental("day", primary_key=())
    rows = [[{"id": 1, "day": "2024-01-01"}]]
    assert len(runs(penstock.resource(rows, name="days", incremental=incremental))) == 1
    assert "unique_hashes_file" not in runs.entry("days", "day")


def test_a_file_is_ignored_after_dlt_continued_with_the_state(runs: Runs) -> None:
    runs(days(MANY))
    entry = runs.entry("days", "day")
    entry["last_value"], entry["unique_hashes"] = "2024-01-02", [digest_to_text(new_digest(7))]

    rows = runs(days(9, day="2024-01-02"))

    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4, 5, 6, 8]
    assert "unique_hashes_file" not in runs.entry("days", "day")


def test_hashes_of_older_releases_are_kept_until_the_last_value_advances(runs: Runs) -> None:
    runs(days(1))
    runs.entry("days", "day")["unique_hashes"] = [
        digest_to_text(old_digest(number)) for number in range(MANY)
    ]

    assert len(runs(days(MANY + 2))) == 2
    assert runs.entry("days", "day")["unique_hashes_file"]["old"] is True
    assert len(runs(days(MANY + 2))) == 0
    assert len(runs(days(1, day="2024-01-02"))) == 1
    assert runs.entry("days", "day")["unique_hashes"] == [digest_to_text(new_digest(0))]


def test_all_cursors_share_the_limit_of_the_state(runs: Runs) -> None:
    def resources() -> list[Any]:
        return [days(9_000).with_name(f"days_{number}") for number in range(8)]

    first, second = len(runs(resources())), len(runs(resources()))

    hash_count = sum(len(runs.entry(f"days_{number}", "day")["unique_hashes"]) for number in range(8))
    assert (first, second) == (72_000, 0)
    assert hash_count <= MAX_HASHES_IN_STATE
    assert len(json.dumps(runs.sources)) < MEGABYTE


@given(st.lists(st.integers(0, 30_000), max_size=30), st.integers(0, 50_000))
def test_hashes_in_the_state_never_exceed_the_limit(counts: list[int], other_hashes: int) -> None:
    moving = cursors_to_move_out(counts, other_hashes=other_hashes)

    staying = [count for number, count in enumerate(counts) if number not in moving]
    assert all(count <= MAX_HASHES_PER_CURSOR for count in staying)
    assert sum(staying) + other_hashes <= MAX_HASHES_IN_STATE or not any(staying)


def test_unreferenced_files_are_removed(runs: Runs) -> None:
    runs(days(MANY))
    first, sources = runs.files, runs.sources
    runs(days(MANY, day="2024-01-02"))
    runs.packages.store.put("cursors/left-by-a-crash.hashes", b"half")

    assert len(runs.files) == 3
    remove_unreferenced_files(runs.packages.store, [freeze(sources), runs.sources])
    assert len(runs.files) == 2
    assert remove_unreferenced_files(runs.packages.store, [runs.sources]) == first
    assert runs(days(MANY, day="2024-01-02")) == []


def test_files_are_copied_with_the_packages(runs: Runs, tmp_path: Path) -> None:
    runs(days(MANY))
    target = FileStorage(str(tmp_path / "elsewhere"))

    copy_referenced_files(runs.packages.store, target, freeze(runs.sources))
    copy_referenced_files(runs.packages.store, target, runs.sources)

    (name,) = runs.files
    assert target.read(f"cursors/{name}") == runs.packages.store.read(f"cursors/{name}")


def test_a_row_that_user_code_changes_later_has_its_original_hash(runs: Runs) -> None:
    def changing() -> Iterable[Any]:
        row = {"n": 1, "x": 0}
        for number in range(3):
            row["x"] = number
            yield row

    def resource() -> Any:
        return penstock.resource(changing, name="r", incremental=penstock.sources.incremental("n"))

    assert [row["x"] for row in runs(resource())] == [0, 1, 2]
    assert runs(resource()) == []


def test_values_of_user_code_beside_cursors_are_ignored(runs: Runs) -> None:
    def odd() -> Iterable[Any]:
        penstock.current.resource_state()["incremental"] = ["mine"]
        penstock.current.source_state()["list"] = [1]
        yield {"id": 1}

    runs([penstock.resource(odd, name="odd"), days(3)])

    assert len(runs.entry("days", "day")["unique_hashes"]) == 3
    assert remove_unreferenced_files(runs.packages.store, [runs.sources]) == []
