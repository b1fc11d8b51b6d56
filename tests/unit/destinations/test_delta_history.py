"""What commits to a Delta table say of themselves, and what others may have written there."""

from __future__ import annotations

import json

import pytest

from penstock.destinations.delta.marks import metadata, told
from penstock.interfaces import LoadMark, TableCommit


def test_a_commit_of_a_load_names_it_and_its_pipeline() -> None:
    mark = LoadMark(pipeline_name="shop", sequence=3, load_id="17.5", manifest_hash="ab")

    assert told(4, metadata(mark)) == TableCommit(version=4, load_id="17.5", pipeline_name="shop")


def test_a_commit_of_an_early_release_names_its_load() -> None:
    said = json.dumps({"load_id": "17.5", "sequence": 3, "manifest": "ab"})

    assert told(4, said) == TableCommit(version=4, load_id="17.5")


def test_a_commit_that_takes_a_load_back_names_that() -> None:
    assert told(5, json.dumps({"undone": "17.5", "version": 4})) == TableCommit(version=5, undoes="17.5")


@pytest.mark.parametrize(
    "said", [None, "", "{", "[]", "7", '"x"', '{"load_id": "mine"}', '{"undone": 1}', "hello"]
)
def test_what_others_write_is_theirs(said: str | None) -> None:
    assert told(1, said) == TableCommit(version=1)
