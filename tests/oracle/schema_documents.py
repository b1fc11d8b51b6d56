"""A schema document of penstock with every feature."""

from __future__ import annotations

from typing import Any, cast

from penstock.schema import Schema, export_schema


def document() -> dict[str, Any]:
    """Return a root with keys and hints, a nested table, a reference, unusual texts, and a contract."""
    schema = Schema("shop")
    schema.set_schema_contract({"tables": "evolve", "columns": "freeze"})
    schema.update_table(
        {
            "name": "people",
            "write_disposition": "merge",
            "description": "who buys: « größe » and 日本",
            "columns": {
                "id": {"name": "id", "data_type": "bigint", "nullable": False, "primary_key": True},
                "paid": {
                    "name": "paid",
                    "data_type": "decimal",
                    "precision": 12,
                    "scale": 2,
                    "nullable": True,
                },
                "at": {"name": "at", "data_type": "timestamp", "timezone": False, "precision": 3},
                "later": {"name": "later", "description": "no value yet"},
                "tags__v_text": {"name": "tags__v_text", "data_type": "text", "variant": True},
            },
        }
    )
    schema.update_table(
        {
            "name": "orders",
            "columns": {"who": {"name": "who", "data_type": "bigint", "nullable": True}},
            "references": [{"columns": ["who"], "referenced_table": "people", "referenced_columns": ["id"]}],
            "x-normalizer": {"seen-data": True},
        }
    )
    schema.update_table(
        {
            "name": "orders__items",
            "parent": "orders",
            "columns": {"sku": {"name": "sku", "data_type": "text", "nullable": True}},
        }
    )
    return cast("dict[str, Any]", schema.to_dict())


def import_steps() -> list[tuple[str, Any]]:
    """Return changes of the import file and of the stored schema in turns."""
    first = Schema.from_dict(document())
    second = Schema.from_dict(document())
    second.update_table({"name": "orders", "columns": {"note": {"name": "note", "data_type": "text"}}})
    table = {"name": "orders", "columns": {"more": {"name": "more", "data_type": "date", "nullable": True}}}
    return [
        ("file", export_schema(first.stored, remove_processing_hints=True)),
        ("table", table),
        ("file", export_schema(first.stored, remove_processing_hints=True)),
        ("file", export_schema(second.stored)),
        ("file", export_schema(second.stored)),
    ]
