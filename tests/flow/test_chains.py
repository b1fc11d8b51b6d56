"""Chains of tables on Delta: retries, merges and replaces that stop between two commits."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.chain_loads import Lake

from penstock.testing import documents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"data_type": "bigint"},
    "name": {"data_type": "text"},
    "gone": {"data_type": "bool", "hard_delete": True},
}
MERGE: dict[str, Any] = {"primary_key": ["id"], "columns": COLUMNS}
FIRST = [
    {"id": 1, "name": "a", "tags": ["x", "y"], "parts": [{"sku": "s", "sizes": [1, 2]}]},
    {"id": 2, "name": "b", "tags": ["z"]},
]
SECOND = [{"id": 1, "name": "new", "tags": ["w"]}, {"id": 3, "name": "c", "tags": ["v"]}]


def merging(strategy: str) -> dict[str, Any]:
    options = {"disposition": "merge", "strategy": strategy}
    if strategy == "scd2":
        plain = {name: {"data_type": column["data_type"]} for name, column in COLUMNS.items()}
        return {"columns": plain, "write_disposition": options}
    return {**MERGE, "write_disposition": options}


def content(lake: Lake) -> dict[str, Any]:
    return documents(lake.content("items"), "items")


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("strategy", "stop"), [("delete-insert", 1), ("delete-insert", 3), ("upsert", 3), ("scd2", 1)]
)
def test_a_load_killed_between_two_commits_ends_like_an_undisturbed_one(
    strategy: str, stop: int, own: SparkSession, tmp_path: Path
) -> None:
    lake, undisturbed = Lake(tmp_path / "dying", own), Lake(tmp_path / "whole", own)
    for item in (lake, undisturbed):
        item.load("items", FIRST, **merging(strategy))
    undisturbed.load("items", SECOND, **merging(strategy))
    staging = lake.stage("items", SECOND, **merging(strategy))

    list(islice(lake.commits("items", staging), stop))
    between = content(lake)
    again = lake.apply("items", staging)

    assert [item.skipped for item in again] == [place < stop for place in range(len(again))]
    assert again[-1].table == "items"
    assert len(again) > stop
    assert between != content(undisturbed), "it died before the end"
    assert content(lake) == content(undisturbed)


@pytest.mark.at_length
def test_an_applied_load_is_skipped(own: SparkSession, tmp_path: Path) -> None:
    lake = Lake(tmp_path, own)
    lake.load("items", FIRST, **merging("delete-insert"))
    staging = lake.stage("items", SECOND, **merging("delete-insert"))

    once, twice = lake.apply("items", staging), lake.apply("items", staging)

    assert not any(item.skipped for item in once)
    assert all(item.skipped for item in twice)
    assert [(item.table, item.version_after) for item in once] == [
        (item.table, item.version_after) for item in twice
    ]
    # Nested tables that get no rows are cleared too, each by one commit, before the root.
    assert [item.table for item in once] == ["items__tags", "items__parts__sizes", "items__parts", "items"]


def test_the_last_of_several_rows_with_one_key_wins_with_only_its_own_children(
    own: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, own)
    rows = [
        {"id": 1, "name": "early", "tags": ["a", "b", "c"]},
        {"id": 1, "name": "late", "tags": ["d"]},
        {"id": 2, "name": "flagged", "gone": True, "tags": ["e"]},
    ]

    for _ in range(2):
        lake.load("items", rows, **merging("upsert"))

    assert content(lake) == {"rows": [{"id": 1, "name": "late", "tags": [{"value": "d"}]}], "orphans": {}}


@pytest.mark.at_length
def test_a_chain_that_was_appended_to_is_merged_without_orphans(own: SparkSession, tmp_path: Path) -> None:
    lake = Lake(tmp_path, own)
    lake.load("items", FIRST, **MERGE)

    lake.load("items", [{"id": 1, "name": "new", "parts": [{"sku": "t"}]}], **merging("delete-insert"))

    assert content(lake) == {
        "rows": [
            {"id": 1, "name": "new", "parts": [{"sku": "t"}]},
            {"id": 2, "name": "b", "tags": [{"value": "z"}]},
        ],
        "orphans": {},
    }
    assert lake.content("items")["items__parts__sizes"] == []


@pytest.mark.at_length
def test_a_replace_is_one_commit_for_each_table_and_empties_those_without_rows(
    own: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, own)
    lake.load("items", FIRST, write_disposition="replace", columns=COLUMNS)
    before = {name: lake.tables.version(name, spark=own) for name in lake.addressing.table_names()}

    lake.load("items", [{"id": 9, "tags": ["q"]}], write_disposition="replace", columns=COLUMNS)

    after = {name: lake.tables.version(name, spark=own) for name in lake.addressing.table_names()}
    assert content(lake) == {"rows": [{"id": 9, "tags": [{"value": "q"}]}], "orphans": {}}
    assert after == {name: version + 1 for name, version in before.items()}
    assert lake.content("items")["items__parts"] == []
    assert "name" in lake.content("items")["items"][0], "columns stay"
