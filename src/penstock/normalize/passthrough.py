"""Rows that stay in the files that they were landed in: a job can read those as well as any that we write."""

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

# A job reads each folder by itself, into files of its own: many small ones are better written together once.
_MAX_FOLDERS: Final = 8


def can_pass_through(table_input: TableInput, layout: NestedLayout, decision: Decision) -> bool:
    """Whether a job can make the rows of their table out of the files, with one look at each.

    Rows with lists are counted, and read once for each table; ids of content take Python; and rows that are
    refused are wanted twice. All that is done once, when the rows are written.
    """
    is_plain = decision.row_id_type == "place" and not decision.refusals
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
    """The columns of the files, as Spark SQL writes them, whatever a session takes for a `TIMESTAMP`."""
    return ", ".join(
        f"{quote_name(one['name'])} {spark_type_from_json(_with_explicit_timestamps(one['type']))}"
        for one in columns["fields"]
    )


def _with_explicit_timestamps(kind: Any) -> Any:
    if isinstance(kind, str):
        return "timestamp_ltz" if kind == "timestamp" else kind
    match kind["type"]:
        case "struct":
            return {
                **kind,
                "fields": [{**one, "type": _with_explicit_timestamps(one["type"])} for one in kind["fields"]],
            }
        case "array":
            return {**kind, "elementType": _with_explicit_timestamps(kind["elementType"])}
        case _:
            return {
                **kind,
                "keyType": _with_explicit_timestamps(kind["keyType"]),
                "valueType": _with_explicit_timestamps(kind["valueType"]),
            }


def frame_file_columns(columns: Mapping[str, Any], layout: NestedLayout) -> tuple[FrameFileColumn, ...]:
    """By position: the fields of the dataset are the columns, in their order."""
    fields = zip(columns["fields"], layout.root.fields.values(), strict=True)
    return tuple(
        FrameFileColumn(column=one["name"], field=name, sql_type=sql_type(child))
        for one, (name, child) in fields
    )
