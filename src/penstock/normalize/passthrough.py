"""Typed files that jobs read, or tables take, as extract wrote them: normalize writes no copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.normalize.nested_layout import Leaf, Object, sql_type
from penstock.package.job_file import FrameFileColumn
from penstock.package.projection.model import ColumnValue, FieldAccess
from penstock.package.sql import quote_name
from penstock.schema.defaults import ID_COLUMN, LOAD_ID_COLUMN
from penstock.schema.spark_types import spark_type_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.normalize.nested_layout import LayoutNode, NestedLayout
    from penstock.normalize.table_inputs import TableInput
    from penstock.package import DataFolder
    from penstock.package.projection.model import OutputColumn, Projection
    from penstock.schema import Decision

# A job writes files for each folder that it reads: many small folders are better written together once.
_MAX_FOLDERS: Final = 8
# A table reads all of its files at every query: many small ones are better combined by the load.
_MAX_SMALL_FILES: Final = 8
_SMALL_FILE_BYTES: Final = 8 * 1024 * 1024


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


def are_few_files(folders: Iterable[DataFolder]) -> bool:
    """Return whether a table should have the files of the folders as its own: few, or no small ones."""
    described = list(folders)
    files = sum(folder.files or 0 for folder in described)
    size = sum(folder.bytes or 0 for folder in described)
    return files <= _MAX_SMALL_FILES + size // _SMALL_FILE_BYTES


def flat_columns(projection: Projection, files: Sequence[FrameFileColumn]) -> str | None:
    """Return the columns of the table as Spark SQL, if files that have the system columns too equal it.

    Each column of the files must become the column of the same name and type; None if any needs work.
    """
    sources = {column.field: column for column in files}
    if len(projection.columns) != len(files) or projection.levels[0].own_id is not None:
        return None
    if not all(_is_unchanged(column, sources) for column in projection.columns):
        return None
    types = {column.name: column.sql_type for column in projection.columns}
    types |= dict.fromkeys((LOAD_ID_COLUMN, ID_COLUMN), "STRING")
    names = dict.fromkeys((*(name for name in projection.order if name in types), *types))
    return ", ".join(f"{quote_name(name)} {types[name]}" for name in names)


def _is_unchanged(output: OutputColumn, sources: Mapping[str, FrameFileColumn]) -> bool:
    match output.values:
        case (ColumnValue(at=FieldAccess(path=(field,), inside=()), stored="typed", unless=(), shape=None),):
            source, value = sources[field], output.values[0]
            is_same = (source.column, source.sql_type) == (output.name, output.sql_type)
            return is_same and value.kind == value.to
        case _:
            return False
