from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.dataset.visibility import (
    SYSTEM_SCHEMAS,
    VisibleVersion,
    system_row,
    visible_rows,
    visible_version,
)
from penstock.interfaces import TableCommit
from penstock.package.file_ledger import LOADS_TABLE, STATE_TABLE, SYSTEM_TABLE_NAMES, VERSION_TABLE

EVENTS = st.sampled_from(["begin", "complete", "undo", "abort", "maintain"])


@dataclass
class History:
    """A table with loads of one pipeline, and the content of each of its versions."""

    commits: list[TableCommit] = field(default_factory=list)
    contents: list[frozenset[str]] = field(default_factory=list)
    complete: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)
    open_load: str | None = None
    loads: int = 0

    def happen(self, event: str) -> None:
        match event:
            case "maintain" if self.commits:
                self._commit(self.content, TableCommit(version=self.next))
            case "begin" if self.open_load is None:
                self.loads += 1
                self.open_load = f"load-{self.loads}"
                self._commit(
                    self.content | {self.open_load},
                    TableCommit(version=self.next, load_id=self.open_load, pipeline_name="p"),
                )
            case "complete" if self.open_load is not None:
                # Rows of aborted loads that were not undone are part of the table.
                self.complete |= {self.open_load}
                self.settled |= self.content
                self.open_load = None
            case "undo" if self.open_load is not None:
                self._commit(
                    self.content - {self.open_load},
                    TableCommit(version=self.next, undoes=self.open_load),
                )
                self.open_load = None
            case "abort" if self.open_load is not None:
                self.open_load = None

    @property
    def next(self) -> int:
        return len(self.commits)

    @property
    def content(self) -> frozenset[str]:
        return self.contents[-1] if self.contents else frozenset()

    def _commit(self, content: frozenset[str], commit: TableCommit) -> None:
        self.commits.append(commit)
        self.contents.append(content)

    def visible_content(self, complete: set[str]) -> frozenset[str]:
        visible = visible_version(self.commits[::-1], complete, is_complete_history=True)
        assert visible is not None
        return frozenset() if visible.version is None else self.contents[visible.version]


@given(st.lists(EVENTS, max_size=20))
def test_a_reader_sees_complete_loads_and_nothing_of_an_open_one(events: list[str]) -> None:
    history = History()
    for event in ["begin", *events]:
        history.happen(event)

        assert history.visible_content(history.complete) == history.settled


@given(st.lists(EVENTS, max_size=20), st.lists(EVENTS, max_size=20))
def test_an_old_reader_sees_the_same_version_again(before: list[str], after: list[str]) -> None:
    history = History()
    for event in ["begin", *before]:
        history.happen(event)
    visible_then, complete_then = history.visible_content(history.complete), set(history.complete)

    for event in after:
        history.happen(event)

    assert history.visible_content(complete_then) == visible_then


@given(st.lists(EVENTS, max_size=20), st.integers(min_value=1, max_value=20))
def test_a_short_history_returns_the_same_version_or_none(events: list[str], most: int) -> None:
    history = History()
    for event in ["begin", *events]:
        history.happen(event)
    complete = visible_version(history.commits[::-1], history.complete, is_complete_history=True)

    short = visible_version(
        history.commits[::-1][:most], history.complete, is_complete_history=most >= len(history.commits)
    )

    assert short in {None, complete}


def test_commits_of_others_after_an_open_load_are_held_back_with_it() -> None:
    commits = [
        TableCommit(version=7),
        TableCommit(version=6, load_id="b1", pipeline_name="b"),
        TableCommit(version=5, load_id="a2", pipeline_name="a"),
        TableCommit(version=4),
        TableCommit(version=3, load_id="a1", pipeline_name="a"),
    ]

    assert visible_version(commits, {"a1", "b1"}, is_complete_history=True) == VisibleVersion(
        newest=7, version=4
    )
    assert visible_version(commits, {"a1", "a2", "b1"}, is_complete_history=True) == VisibleVersion(
        newest=7, version=7
    )


def test_a_table_without_a_complete_load_is_invisible() -> None:
    visible = visible_version(
        [TableCommit(version=0, load_id="a1", pipeline_name="a")], set(), is_complete_history=True
    )

    assert visible == VisibleVersion(newest=0, version=None)
    assert visible.is_held_back


def test_a_complete_replace_supersedes_an_open_load_before_it() -> None:
    commits = [
        TableCommit(version=4, load_id="q2", pipeline_name="q"),
        TableCommit(version=3, load_id="q1", pipeline_name="q", replaces=True),
        TableCommit(version=2, load_id="p2", pipeline_name="p"),
        TableCommit(version=1, load_id="p1", pipeline_name="p"),
    ]

    assert visible_version(commits[1:], {"p1", "q1"}, is_complete_history=False) == VisibleVersion(
        newest=3, version=3
    )
    assert visible_version(commits, {"p1", "q1"}, is_complete_history=False) == VisibleVersion(
        newest=4, version=3
    )
    assert visible_version(commits, {"p1"}, is_complete_history=True) == VisibleVersion(newest=4, version=1)


DLT_ROW = {
    "load_id": "1794709965.5110981",
    "schema_name": "dltpipe",
    "status": 0,
    "inserted_at": "2026-11-15T02:32:47.448741+00:00",
    "schema_version_hash": "e8IhSkvTxIRdIvdYvLzwkPkLkpxuKFZJlKdKzFRM2sY=",
}


def test_a_row_of_dlt_has_nulls_in_the_columns_of_penstock() -> None:
    assert system_row(LOADS_TABLE, DLT_ROW) == (
        "1794709965.5110981",
        "dltpipe",
        0,
        datetime(2026, 11, 15, 2, 32, 47, 448741, UTC),
        DLT_ROW["schema_version_hash"],
        None,
        None,
        None,
        None,
        None,
    )


def test_nested_values_are_shown_as_json() -> None:
    row = system_row(LOADS_TABLE, {**DLT_ROW, "tables": {"items": {"after": 0}}})

    assert row[-2] == '{"items":{"after":0}}'


def test_unknown_columns_are_left_out() -> None:
    assert len(system_row(STATE_TABLE, {"_dlt_load_id": "1", "surprise": 2})) == 7


@pytest.mark.parametrize("table", SYSTEM_TABLE_NAMES)
def test_a_row_has_as_many_values_as_its_table_has_columns(table: str) -> None:
    assert len(system_row(table, {})) == len(SYSTEM_SCHEMAS[table].split(", "))


def test_rows_of_invisible_loads_are_hidden() -> None:
    loads = [{"load_id": "1", "schema_version_hash": "a"}, {"load_id": "2", "schema_version_hash": "b"}]
    states = [{"_dlt_load_id": "1"}, {"_dlt_load_id": "3"}]
    versions = [{"version_hash": "a"}, {"version_hash": "b"}, {"version_hash": "c"}]

    assert visible_rows(LOADS_TABLE, loads, loads, {"1"}) == loads[:1]
    assert visible_rows(STATE_TABLE, states, loads, {"1", "2"}) == states[:1]
    assert visible_rows(VERSION_TABLE, versions, loads, {"1"}) == versions[:1]
    assert visible_rows(VERSION_TABLE, versions, loads, {"1", "2"}) == versions[:2]
