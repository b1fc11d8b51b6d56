from __future__ import annotations

from penstock.normalize.prior_schema import with_root_table
from penstock.package.extract_manifest import ExtractedTable
from penstock.schema import StoredSchema, Table

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
