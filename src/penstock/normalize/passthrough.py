"""Typed files that jobs read as extract wrote them, so that normalize writes no copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.normalize.nested_layout import Leaf, Object, sql_type
from penstock.package.job_file import FrameFileColumn
from penstock.package.sql import quote_name
from penstock.schema.spark_types import spark_type_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.table_inputs import TableInput
    from penstock.schema import Decision

# A job writes files for each folder that it reads: many small folders are better written together once.
_MAX_FOLDERS: Final = 8


def can_pass_through(table_input: TableInput, layout: NestedLayout, decision: Decision) -> bool:
    """Return whether jobs can read the tables from the extracted files, and each file only once.

    Lists are read once for each table, hashed row ids take Python, and refused rows are read twice: then the
    rows are better written once.
    """
    is_plain = decision.row_id_type == "position" and not decision.refusals
    is_few = len(table_input.folders) <= _MAX_FOLDERS
    return is_plain and is_few and bool(layout.root.fields) and _is_flat(layout.root)


def _is_flat(node: LayoutNode) -> bool:
    match node:
        case Leaf():
            return True
        case Object(fields=fields):
            return all(_is_flat(child) for _, child in fields.values())
        case _:
            return False


def file_columns(columns: Mapping[str, Any]) -> str:
    """Return the columns of the files as Spark SQL, independent of the session's default timestamp type."""
    return ", ".join(
        f"{quote_name(field['name'])} {spark_type_from_json(_with_explicit_timestamps(field['type']))}"
        for field in columns["fields"]
    )


def _with_explicit_timestamps(json_type: Any) -> Any:
    if isinstance(json_type, str):
        return "timestamp_ltz" if json_type == "timestamp" else json_type
    match json_type["type"]:
        case "struct":
            fields = [
                {**field, "type": _with_explicit_timestamps(field["type"])} for field in json_type["fields"]
            ]
            return {**json_type, "fields": fields}
        case "array":
            return {**json_type, "elementType": _with_explicit_timestamps(json_type["elementType"])}
        case _:
            return {
                **json_type,
                "keyType": _with_explicit_timestamps(json_type["keyType"]),
                "valueType": _with_explicit_timestamps(json_type["valueType"]),
            }


def frame_file_columns(columns: Mapping[str, Any], layout: NestedLayout) -> tuple[FrameFileColumn, ...]:
    """Match the columns of the files with the fields of the layout, by position."""
    fields = zip(columns["fields"], layout.root.fields.values(), strict=True)
    return tuple(
        FrameFileColumn(column=column["name"], field=name, sql_type=sql_type(child))
        for column, (name, child) in fields
    )
