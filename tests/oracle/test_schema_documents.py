from __future__ import annotations

from typing import Any, cast

import pytest
from tests.oracle.oracle_client import ask, needs_dlt, vector
from tests.oracle.row_sets import Case, rowset
from tests.oracle.schema_documents import document, import_steps

from penstock.schema import Schema, StoredSchema, decide, gather, import_schema


@needs_dlt
def test_dlt_opens_a_schema_of_penstock_and_writes_the_same_text() -> None:
    assert ask("schema", document=document()) == vector("files.json")


def test_dlt_accepted_a_schema_document_of_penstock_without_a_new_version() -> None:
    expected = vector("files.json")

    assert expected["document"] == document()
    assert not expected["modified"]


def test_exported_schemas_are_equal_to_those_of_dlt() -> None:
    expected = vector("files.json")
    schema = Schema.from_dict(expected["document"])

    assert schema.to_pretty_yaml() == expected["yaml"]
    assert schema.to_pretty_json() == expected["json"]
    assert schema.to_pretty_yaml(remove_processing_hints=True) == expected["bare_yaml"]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_schema_file_of_dlt_can_be_opened(form: str) -> None:
    expected = vector("files.json")

    schema = Schema.from_text(expected[form])

    assert schema.to_dict() == expected["document"]
    assert not schema.is_modified


@needs_dlt
def test_dlt_still_imports_files_as_recorded() -> None:
    assert ask("imports", steps=import_steps()) == vector("imports.json")


def test_a_file_replaces_the_stored_schema_when_and_only_when_it_changed() -> None:
    stored: StoredSchema | None = None
    for (what, given), expected in zip(import_steps(), vector("imports.json"), strict=True):
        if what == "file":
            stored = import_schema(given, stored)
        else:
            assert stored is not None
            schema = Schema.from_stored(stored)
            schema.update_table(given)
            stored = schema.stored
        assert stored.to_dict() == expected


@needs_dlt
def test_dlt_opens_decided_schemas_without_a_new_version() -> None:
    documents = [decided(rowset(number)) for number in range(60)]

    answers = ask("schemas", documents=documents)

    assert [answer["document"] for answer in answers] == documents
    assert not any(answer["modified"] for answer in answers)


def decided(case: Case) -> dict[str, Any]:
    schema = Schema.from_dict(case.document)
    for batch in case.batches:
        schema.update(decide(schema.stored, "t", gather(batch)).schema)
        schema.mark_saved()
    return cast("dict[str, Any]", schema.to_dict())
