from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UnsupportedVersion
from penstock.package import DataFolder, Manifest, TableEntry
from penstock.package.manifest import job_sizes
from penstock.schema.origin import ColumnOrigin

words = st.text(alphabet=st.characters(codec="utf-8"), max_size=8)
documents = st.dictionaries(
    words,
    st.recursive(
        st.none() | st.integers() | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
manifests = st.builds(
    Manifest,
    load_id=words,
    sequence=st.integers(1),
    pipeline_name=words,
    dataset_name=words,
    schema_name=words,
    tables=st.lists(
        st.builds(TableEntry, table=words, job=words, write_disposition=st.just("append")), max_size=3
    ).map(tuple),
    schema_before=st.none() | words,
    schema=documents,
    state=documents,
    origins=st.lists(
        st.builds(
            ColumnOrigin, table=words, column=words, rule=st.just("hint"), path=st.lists(words).map(tuple)
        ),
        max_size=2,
    ).map(tuple),
)


@given(manifest=manifests)
def test_a_manifest_reads_back_as_written_with_the_same_hash(manifest: Manifest) -> None:
    copy = Manifest.from_dict(json.loads(manifest.to_json()))

    assert copy == manifest
    assert copy.to_json() == manifest.to_json()
    assert copy.content_hash == manifest.content_hash


@given(manifest=manifests, other=manifests)
def test_manifests_with_the_same_hash_are_the_same(manifest: Manifest, other: Manifest) -> None:
    assert (manifest.to_json() == other.to_json()) == (manifest.content_hash == other.content_hash)


def test_the_hash_does_not_change_from_release_to_release() -> None:
    manifest = Manifest(
        load_id="1794709965.511098",
        sequence=1,
        pipeline_name="shop",
        dataset_name="lake",
        schema_name="shop",
        tables=(TableEntry(table="items", job="items.x.0.reference", write_disposition="append"),),
        schema_before=None,
        schema={"b": 1, "a": "ü"},
        state={},
    )

    assert manifest.to_json().decode() == (
        '{"format_version":1,"load_id":"1794709965.511098","sequence":1,"pipeline_name":"shop",'
        '"dataset_name":"lake","schema_name":"shop","tables":[{"table":"items","job":"items.x.0.reference",'
        '"write_disposition":"append","data":null,"more":[],"rows":null}],"folders":[],"schema_before":null,"schema":{"b":1,"a":"ü"},"state":{},'
        '"dropped":{},"truncated":[]}'
    )
    assert manifest.content_hash == "610b051bb272550724f5a5a6833b9fd9dabf97098956e41939055e2c2405ff7c"


def test_a_manifest_of_a_later_format_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="a sealed manifest has version 2"):
        Manifest.from_dict({"format_version": 2})


def test_a_shared_folder_counts_for_the_root_and_not_for_nested_tables() -> None:
    options: dict[str, Any] = {"write_disposition": "append", "data": "a", "more": ("b",)}
    child = TableEntry(table="items__tags", job="tags", **options)
    root = TableEntry(table="items", job="items", **options)
    folders = [DataFolder(path="a", bytes=3), DataFolder(path="b", bytes=4)]

    assert job_sizes([child, root], folders) == {"tags": 0, "items": 7}
    assert job_sizes([root], folders[:1]) == {"items": None}


def test_a_shared_folder_counts_once_in_any_position() -> None:
    options: dict[str, Any] = {"write_disposition": "append"}
    child = TableEntry(table="items__tags", job="tags", data="b", **options)
    root = TableEntry(table="items", job="items", data="a", more=("b",), **options)

    sizes = job_sizes([child, root], [DataFolder(path="a", bytes=3), DataFolder(path="b", bytes=4)])

    assert sizes == {"tags": 0, "items": 7}
