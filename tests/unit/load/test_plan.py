from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.destinations.warehouse import warehouse

from penstock.interfaces import AppliedJob
from penstock.load.plan import (
    Chain,
    chains_of,
    file_count,
    has_failed_job,
    is_complete,
    is_last_try,
    next_jobs,
    next_sequence,
    results_by_table,
    retry_delay,
    schema_update,
    startable_jobs,
    table_of,
    with_recorded_followups,
)
from penstock.package import TableEntry
from penstock.schema import Column, Table

if TYPE_CHECKING:
    from random import Random

    from penstock.load.plan import JobState
    from penstock.schema import TWriteDisposition

STATES: list[JobState] = ["new", "running", "completed", "failed"]
STRATEGIES = ["parallel", "table-sequential", "sequential"]
DISPOSITIONS: list[TWriteDisposition | None] = [None, "append", "replace"]
names = st.text("abc", min_size=1, max_size=2)


def entry(table: str) -> TableEntry:
    return TableEntry(table=table, job=f"{table}.x.0.reference", write_disposition="append")


def job(table: str) -> str:
    return f"{table}.x.reference"


@st.composite
def loads(draw: st.DrawFn) -> tuple[list[TableEntry], dict[str, Table]]:
    """Tables of any shape, and a load that has jobs for some of them."""
    tables: dict[str, Table] = {}
    for name in draw(st.lists(names, unique=True, max_size=8)):
        parent = draw(st.none() | st.sampled_from(sorted(tables))) if tables else None
        seen = {"x-normalizer": {"seen-data": draw(st.booleans())}}
        disposition = draw(st.sampled_from(DISPOSITIONS)) if parent is None else None
        tables[name] = Table(name=name, parent=parent, write_disposition=disposition, extras=seen)
    chosen = draw(st.lists(st.sampled_from(sorted(tables)), unique=True)) if tables else []
    return [entry(name) for name in chosen], tables


@st.composite
def chains_with_states(draw: st.DrawFn) -> tuple[tuple[Chain, ...], dict[str, JobState]]:
    entries, tables = draw(loads())
    chains = chains_of(entries, tables)
    jobs = [job for chain in chains for job in chain.jobs]
    return chains, {job: draw(st.sampled_from(STATES)) for job in jobs}


@given(loads())
def test_every_job_is_in_one_wave_and_roots_come_last(
    load: tuple[list[TableEntry], dict[str, Table]],
) -> None:
    entries, tables = load

    chains = chains_of(entries, tables)

    planned = [found for chain in chains for found in chain.jobs]
    assert sorted(planned) == sorted(job(given.table) for given in entries)
    for chain in chains:
        assert all(chain.waves)
        assert not tables[chain.root].is_nested
        nested = [tables[table_of(found)].is_nested for found in chain.jobs]
        assert nested == sorted(nested, reverse=True)
        assert chain.tables[0] == chain.root
        assert {table_of(found) for found in chain.jobs} <= set(chain.tables)


@given(loads())
def test_tables_without_rows_are_included_only_to_be_truncated(
    load: tuple[list[TableEntry], dict[str, Table]],
) -> None:
    entries, tables = load

    for chain in chains_of(entries, tables):
        with_jobs = {table_of(found) for found in chain.jobs}
        for name in set(chain.tables) - with_jobs - {chain.root}:
            assert chain.write_disposition == "replace"
            assert tables[name].has_seen_data


@given(chains_with_states(), st.integers(1, 4), st.sampled_from(STRATEGIES))
def test_only_new_jobs_start_and_never_more_than_there_are_workers(
    load: tuple[tuple[Chain, ...], dict[str, JobState]], workers: int, strategy: str
) -> None:
    chains, states = load
    running = [found for found, state in states.items() if state == "running"]

    started = next_jobs(chains, states, workers=workers, strategy=strategy)  # type: ignore[arg-type]

    assert all(states[found] == "new" for found in started)
    assert len(started) <= max(workers - len(running), 0)
    broken = {found for chain in chains if has_failed_job(chain, states) for found in chain.jobs}
    assert not broken & set(started)
    if strategy == "sequential":
        assert len(started) + len(running) <= max(1, len(running))
    if strategy == "table-sequential":
        tables = [table_of(found) for found in (*started, *running)]
        assert len(tables) == len(set(tables)) or len(running) != len({table_of(found) for found in running})


@given(chains_with_states())
def test_a_wave_waits_for_the_one_before_it(load: tuple[tuple[Chain, ...], dict[str, JobState]]) -> None:
    chains, states = load

    for chain in chains:
        for found in startable_jobs(chain, states):
            at = next(index for index, wave in enumerate(chain.waves) if found in wave)
            assert all(states[earlier] == "completed" for wave in chain.waves[:at] for earlier in wave)


@given(loads(), st.integers(1, 3), st.data())
def test_a_load_whose_jobs_succeed_ends(
    load: tuple[list[TableEntry], dict[str, Table]], workers: int, data: st.DataObject
) -> None:
    chains = chains_of(*load)
    states: dict[str, JobState] = {found: "new" for chain in chains for found in chain.jobs}

    while not all(is_complete(chain, states) for chain in chains):
        started = next_jobs(chains, states, workers=workers)
        states |= dict.fromkeys(started, "running")
        running = sorted(found for found, state in states.items() if state == "running")
        states[data.draw(st.sampled_from(running))] = "completed"

    assert set(states.values()) <= {"completed"}


def test_a_paused_job_does_not_block_a_worker() -> None:
    chains = chains_of([entry("a"), entry("b")], {name: Table(name=name) for name in "ab"})
    states: dict[str, JobState] = {job("a"): "new", job("b"): "new"}

    assert next_jobs(chains, states, workers=1) == (job("a"),)
    assert next_jobs(chains, states, workers=1, paused=[job("a")]) == (job("b"),)


def test_follow_up_jobs_join_the_wave_of_their_job_and_those_of_the_chain_come_last() -> None:
    tables = {"t": Table(name="t"), "t__a": Table(name="t__a", parent="t")}
    (chain,) = chains_of([entry("t__a"), entry("t")], tables)
    noted = {job("t__a"): ["t__a.y.sql"], "t__a.y.sql": ["t__a.z.sql"], "t": ["t.publish.sql"]}

    known = with_recorded_followups(chain, noted)

    assert known.waves == (
        (job("t__a"), "t__a.y.sql", "t__a.z.sql"),
        (job("t"),),
        ("t.publish.sql",),
    )
    assert known.has_chain_followups
    assert with_recorded_followups(chain, {}) == chain


def test_follow_up_jobs_of_a_chain_are_requested_once() -> None:
    (chain,) = chains_of([entry("t")], {"t": Table(name="t")})

    followed = chain.with_chain_followups([])

    assert (followed.waves, followed.has_chain_followups) == (chain.waves, True)


def test_a_table_that_the_schema_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        chains_of([entry("t")], {})


def test_a_run_stops_at_the_maximum_of_tries_and_the_next_has_as_many() -> None:
    assert [tried for tried in range(13) if is_last_try(tried, max_retries=5)] == [5, 10]


def test_retry_delays_grow_to_ten_seconds() -> None:
    pauses = [retry_delay(tried, first=0.5) for tried in range(1, 8)]

    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


counts = st.none() | st.integers(0, 100)
results = st.builds(
    AppliedJob,
    table=names,
    rows=counts,
    version_before=counts,
    version_after=counts,
    skipped=st.booleans(),
)


@given(st.lists(results), st.randoms())
def test_results_of_jobs_add_up_in_any_order(found: list[AppliedJob], random: Random) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)

    assert results_by_table(found) == results_by_table(shuffled)
    for table, outcome in results_by_table(found).items():
        rows = [result.rows for result in found if result.table == table and result.rows is not None]
        assert outcome.rows == (sum(rows) if rows else None)
        assert outcome.skipped == all(result.skipped for result in found if result.table == table)


def test_a_job_without_a_version_keeps_those_of_others() -> None:
    staged = AppliedJob(table="t", rows=3)
    published = AppliedJob(table="t", version_before=4, version_after=5)

    assert results_by_table([staged, published]) == {
        "t": AppliedJob(table="t", rows=3, version_before=4, version_after=5)
    }


def table(name: str, *columns: str) -> Table:
    return Table(name=name, columns={found: Column(name=found, data_type="text") for found in columns})


def test_an_update_is_new_tables_and_new_columns() -> None:
    before = {"old": table("old", "a"), "same": table("same", "a")}
    after = {"old": table("old", "a", "b"), "same": table("same", "a"), "new": table("new", "a")}

    update = schema_update(before, after, after)

    assert {name: list(found["columns"]) for name, found in update.items()} == {"old": ["b"], "new": ["a"]}
    assert schema_update(after, after, after) == {}
    assert list(schema_update(before, after, ["new"])) == ["new"]


def test_numbers_of_loads_are_dense_and_begin_at_one() -> None:
    assert [next_sequence(last) for last in (None, 1, 41)] == [1, 2, 42]


@pytest.mark.parametrize(
    ("sizes", "file_size", "files"),
    [([600, 500], 1000, 2), ([600], 1000, 1), ([0], 1000, 1), ([600], None, None)],
)
def test_files_have_about_the_recommended_size(
    sizes: list[int], file_size: int | None, files: int | None
) -> None:
    able = warehouse(recommended_file_size=file_size).capabilities()

    assert file_count(sizes, able.recommended_file_size) == files
