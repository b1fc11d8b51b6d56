from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.schema import Schema

DLT_SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "vectors/dlt_schema.json").read_text())


@pytest.mark.parametrize("form", ["to_pretty_yaml", "to_pretty_json"])
@pytest.mark.parametrize("remove_defaults", [True, False])
def test_a_schema_reads_back_equal_from_its_text(form: str, remove_defaults: bool) -> None:
    schema = Schema.from_dict(DLT_SCHEMA)

    text = getattr(schema, form)(remove_defaults=remove_defaults)

    assert Schema.from_text(text).to_dict() == DLT_SCHEMA


def test_without_defaults_no_name_stands_twice() -> None:
    text = Schema.from_dict(DLT_SCHEMA).to_pretty_yaml()

    assert "\n  orders:\n" in text
    assert " name: orders\n" not in text


def test_without_processing_hints_the_content_is_another_version() -> None:
    schema = Schema.from_dict(DLT_SCHEMA)

    bare = schema.to_dict(remove_processing_hints=True)

    assert not any("x-normalizer" in table for table in bare["tables"].values())
    assert bare["version"] == DLT_SCHEMA["version"] + 1
    assert schema.to_dict() == DLT_SCHEMA


@pytest.mark.parametrize("text", ["", "{", "a: [", "- 1", "{}", "name: x"])
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no schema document"):
        Schema.from_text(text)
