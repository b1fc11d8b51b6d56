"""Rows that stay in the files that they were landed in: a job can read those as well as any that we write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.normalize.stored import Leaf, Object, sql_type
from penstock.package.landed import LandedColumn
from penstock.package.sql import quoted
from penstock.schema.sparktypes import nested_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.normalize.readings import Reading
    from penstock.normalize.stored import Dataset, Node
    from penstock.schema import Decision

# A job reads each folder by itself, into files of its own: many small ones are better written together once.
_MOST_FOLDERS: Final = 8


def can_stay(reading: Reading, dataset: Dataset, decision: Decision) -> bool:
    """Whether a job can make the rows of their table out of the files, with one look at each.

    Rows with lists are counted, and read once for each table; ids of content take Python; and rows that are
    refused are wanted twice. All that is done once, when the rows are written.
    """
    is_plain = decision.row_id == "place" and not decision.refusals
    is_few = len(reading.folders) <= _MOST_FOLDERS
    return is_plain and is_few and bool(dataset.root.fields) and _is_flat(dataset.root)


def _is_flat(node: Node) -> bool:
    match node:
        case Leaf():
            return True
        case Object(fields=fields):
            return all(_is_flat(child) for _, child in fields.values())
        case _:
            return False


def file_columns(columns: Mapping[str, Any]) -> str:
    """The columns of the files, as Spark SQL writes them, whatever a session takes for a `TIMESTAMP`."""
    return ", ".join(f"{quoted(one['name'])} {nested_type(_exact(one['type']))}" for one in columns["fields"])


def _exact(kind: Any) -> Any:
    if isinstance(kind, str):
        return "timestamp_ltz" if kind == "timestamp" else kind
    match kind["type"]:
        case "struct":
            return {**kind, "fields": [{**one, "type": _exact(one["type"])} for one in kind["fields"]]}
        case "array":
            return {**kind, "elementType": _exact(kind["elementType"])}
        case _:
            return {**kind, "keyType": _exact(kind["keyType"]), "valueType": _exact(kind["valueType"])}


def landed_columns(columns: Mapping[str, Any], dataset: Dataset) -> tuple[LandedColumn, ...]:
    """By position: the fields of the dataset are the columns, in their order."""
    fields = zip(columns["fields"], dataset.root.fields.values(), strict=True)
    return tuple(
        LandedColumn(column=one["name"], field=name, sql_type=sql_type(child))
        for one, (name, child) in fields
    )
