from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PackageDamaged
from penstock.package.extract_manifest import ExtractedTable, ExtractManifest
from penstock.schema.frozen_map import freeze

names = st.text(min_size=1, max_size=5)
documents = st.dictionaries(names, st.dictionaries(names, st.integers() | names, max_size=2), max_size=3)
tables = st.builds(
    ExtractedTable,
    table=names,
    resource=names,
    write_disposition=st.sampled_from(["append", "replace"]),
    folder=st.just("data/extracted/00000"),
    rows=st.integers(0, 9),
    bytes=st.integers(0, 9),
    files=st.integers(0, 9),
    data_format=st.sampled_from(["rows", "typed", "flat"]),
    columns=st.none() | documents,
)


@given(
    extracted=st.builds(
        ExtractManifest,
        schema_name=names,
        tables=st.lists(tables, max_size=3).map(tuple),
        declared_tables=documents.map(freeze),
        schema=st.none() | documents.map(freeze),
        state=st.none() | documents.map(freeze),
    )
)
def test_an_extract_manifest_round_trips(extracted: ExtractManifest) -> None:
    assert ExtractManifest.from_dict(extracted.to_dict()) == extracted
    assert extracted.rows == sum(table.rows for table in extracted.tables)


def test_optional_fields_may_be_missing() -> None:
    table: dict[str, Any] = {
        "resource": "orders",
        "table": "orders",
        "write_disposition": "append",
        "folder": "data/extracted/00000",
        "rows": 2,
        "bytes": 20,
        "files": 1,
    }

    found = ExtractManifest.from_dict({"schema_name": "shop", "resources": [table]})

    assert found.tables == (ExtractedTable(**table),)
    assert (dict(found.declared_tables), found.schema, found.state) == ({}, None, None)


def test_unknown_fields_of_a_table_are_ignored() -> None:
    table = ExtractedTable(
        table="t", resource="t", write_disposition="append", folder="f", rows=1, bytes=1, files=1
    )
    document = ExtractManifest(schema_name="s", tables=(table,)).to_dict()
    document["resources"][0]["colour"] = "red"

    assert ExtractManifest.from_dict(document).tables == (replace(table),)


TABLE = {
    "table": "items",
    "resource": "items",
    "write_disposition": "append",
    "folder": "data/extracted/00000",
    "rows": 1,
    "bytes": 1,
    "files": 1,
}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"schema_name": "shop"},
        {"schema_name": "shop", "resources": 7},
        {"schema_name": "shop", "resources": ["items"]},
        {"schema_name": "shop", "resources": [{"table": "items"}]},
        {"schema_name": "shop", "resources": [{**TABLE, "rows": "1"}]},
        {"schema_name": "shop", "resources": [{**TABLE, "data_format": "csv"}]},
    ],
)
def test_a_document_without_a_required_field_is_damage(document: dict[str, Any]) -> None:
    with pytest.raises(PackageDamaged, match=r"extracted\.json is damaged"):
        ExtractManifest.from_dict(document)
