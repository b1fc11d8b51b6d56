from __future__ import annotations

from typing import Any

import pytest
from tests.destinations.warehouse import warehouse

from penstock.normalize.prior_schema import inference_options, options_of_table, with_root_table
from penstock.package.extract_manifest import ExtractedTable
from penstock.schema import StoredSchema, Table, decide, gather, naming_convention

ITEMS = ExtractedTable(
    table="items", resource="items", write_disposition="append", folder="f", rows=1, bytes=1, files=1
)


def test_table_defaults_are_set_only_where_a_table_has_no_value() -> None:
    declared = Table.from_dict({"name": "items", "file_format": "csv"})
    before = StoredSchema(name="shop").with_tables([declared])

    declared_table = with_root_table(before, "items", ITEMS, {}, {"file_format": "jsonl"}).tables["items"]
    new_table = with_root_table(
        StoredSchema(name="shop"), "items", ITEMS, {}, {"file_format": "jsonl"}
    ).tables["items"]

    assert (declared_table.extras["file_format"], new_table.extras["file_format"]) == ("csv", "jsonl")


def test_the_nesting_of_the_destination_replaces_that_of_the_schema() -> None:
    rows, wide = (
        [{"tags": [{"parts": [1]}]}],
        StoredSchema(name="shop").with_normalizers(json={"config": {"max_nesting": 9}}),
    )
    own = wide.with_tables([Table.from_dict({"name": "items", "x-normalizer": {"max_nesting": 2}})])

    def tables(schema: StoredSchema, max_table_nesting: int | None) -> set[str]:
        able = warehouse(max_table_nesting=max_table_nesting).capabilities()
        options = inference_options(naming_convention(), capabilities=able)
        return set(decide(schema, "items", gather(rows), options).tables.values())

    assert tables(wide, None) == {"items", "items__tags", "items__tags__parts"}
    assert tables(wide, 1) == {"items", "items__tags"}
    assert tables(wide, 0) == {"items"}
    assert tables(own, 0) == {"items", "items__tags", "items__tags__parts"}, "a table has its own"


@pytest.mark.parametrize(
    "capabilities", [{"has_case_sensitive_identifiers": False}, {"casefold_identifier": str.upper}]
)
def test_columns_that_are_one_name_at_the_destination_get_different_names(
    capabilities: dict[str, Any],
) -> None:
    def columns(schema: StoredSchema, row: dict[str, int], **changed: Any) -> tuple[StoredSchema, list[str]]:
        options = inference_options(
            naming_convention("direct"), capabilities=warehouse(**changed).capabilities()
        )
        after = decide(schema, "items", gather([row]), options).schema
        return after, [name for name in after.tables["items"].columns if not name.startswith("_dlt")]

    new = StoredSchema(name="shop")
    schema, first = columns(new, {"A": 1, "a": 2, "b": 3}, **capabilities)
    _, again = columns(schema, {"a": 2, "A": 1}, **capabilities)
    _, later = columns(columns(new, {"A": 1}, **capabilities)[0], {"a": 2}, **capabilities)

    assert columns(new, {"A": 1, "a": 2})[1] == ["A", "a"]
    assert [first[0], first[2], again] == ["A", "b", first]
    assert first[1] == later[1] != "a"
    assert later[0] == "A"


def test_the_merge_strategy_of_a_table_is_that_of_the_destination() -> None:
    able = warehouse(supported_merge_strategies=("upsert",)).capabilities()
    merged = Table.from_dict({"name": "items", "write_disposition": "merge"})

    options = options_of_table(inference_options(naming_convention()), able, merged)

    assert options.merge_strategy == "upsert"
