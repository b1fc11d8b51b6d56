"""Decides whether files may be committed to a Delta table by reference, without Spark. Pure functions.

Only tables whose protocol and properties are in a list that is known to be safe: for all others Spark's own
writer checks constraints, computes columns and keeps the indexes of the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.destinations.delta.file_stats import DEFAULT_INDEXED_COLUMNS, PRIMITIVE_TYPES, leaf_columns
from penstock.spark.paths import local_path
from penstock.spark.s3 import s3_bucket

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.destinations.delta.file_stats import Path

WriteMode = Literal["append", "overwrite"]

_LEGACY_PROTOCOL: Final = (1, 2)
_FEATURE_PROTOCOL: Final = (3, 7)
# Invariants are metadata of columns, which are checked below.
_SAFE_FEATURES: Final = frozenset(("appendOnly", "invariants", "timestampNtz"))
_INDEXED_COLUMNS: Final = "delta.dataSkippingNumIndexedCols"
_APPEND_ONLY: Final = "delta.appendOnly"
_SAFE_PROPERTIES: Final = frozenset(
    (
        _INDEXED_COLUMNS,
        _APPEND_ONLY,
        "delta.checkpointInterval",
        "delta.deletedFileRetentionDuration",
        "delta.enableExpiredLogCleanup",
        "delta.logRetentionDuration",
    )
)
_SAFE_COLUMN_METADATA: Final = frozenset(("comment",))
_TABLE_DEFAULTS: Final = "spark.databricks.delta.properties.defaults."
# Where these are set, commits of several drivers are ordered by a service that files in the log do not show:
# a log store such as S3DynamoDBLogStore, or the commit service of a Databricks cluster.
_COMMIT_SERVICES: Final = ("spark.delta.logStore.", "spark.databricks.clusterUsageTags.")
_FILE_SETTINGS: Final = frozenset(
    (
        "spark.databricks.delta.autoCompact.enabled",
        "spark.databricks.delta.optimizeWrite.enabled",
    )
)
_DECIMAL: Final = re.compile(r"decimal\(\d+,\d+\)")
# Delta refuses these in the columns of a new table.
_FORBIDDEN_CHARACTERS: Final = frozenset(" ,;{}()\n\t=")
_SAFE_LOCAL_PATH: Final = re.compile(r"[^%#?\\\x00-\x1f\x7f]*")
_SAFE_OBJECT_PATH: Final = re.compile(r"[\w./=+-]*", re.ASCII)
_SAFE_FILE_PATH: Final = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """The protocol, properties and columns of a table, from its log."""

    protocol: tuple[int, int]
    """The versions of readers and writers."""
    features: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    schema: Mapping[str, Any]
    """The columns, as Spark writes them in JSON."""


def find_obstacle(table: TableFacts | None, schema: Mapping[str, Any], mode: WriteMode) -> str | None:
    """Return why Spark has to write rows of this schema; None if their files may be committed.

    `table` is None if the commit creates the table.
    """
    return next(_obstacles(table, schema, mode), None)


def session_obstacle(conf: Mapping[str, str]) -> str | None:
    """Return the setting of a session for which Spark has to write; None if there is none.

    Such settings give properties to new tables, change how files are written, or name a service that orders
    commits.

    >>> session_obstacle({"spark.databricks.delta.properties.defaults.appendOnly": "true"})
    'spark.databricks.delta.properties.defaults.appendOnly'
    >>> session_obstacle({"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"})
    'spark.delta.logStore.s3a.impl'
    """
    return next((name for name, value in conf.items() if _is_session_obstacle(name, value)), None)


def indexed_columns(schema: Mapping[str, Any], properties: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the columns of a table that have statistics, by its properties."""
    columns = tuple(path for path, _ in leaf_columns(schema))
    count = int(properties.get(_INDEXED_COLUMNS, DEFAULT_INDEXED_COLUMNS))
    return columns if count < 0 else columns[:count]


def nullable_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a new table: every value may be null, as in tables that Spark creates."""
    fields = [
        {"name": column["name"], "type": _nullable_type(column["type"]), "nullable": True, "metadata": {}}
        for column in schema["fields"]
    ]
    return {"type": "struct", "fields": fields}


def library_address(address: str) -> str | None:
    """Return the address by which deltalake opens a folder; None for a path that it decodes twice.

    >>> library_address("/lake/a b"), library_address("s3a://lake/shop"), library_address("/lake/50%")
    ('file:///lake/a%20b', 's3://lake/shop', None)
    """
    path = local_path(address)
    if path is not None:
        return path.absolute().as_uri() if _SAFE_LOCAL_PATH.fullmatch(str(path)) else None
    scheme, _, rest = address.partition("://")
    if not _SAFE_OBJECT_PATH.fullmatch(rest):
        return None
    return f"{'s3' if s3_bucket(address) else scheme}://{rest}"


def is_safe_file(path: str) -> bool:
    """Return whether the path of a file is the same in the log, and no hidden one that VACUUM keeps.

    >>> is_safe_file("0a1b/part-0.parquet"), is_safe_file("_tmp/part-0.parquet"), is_safe_file("a=1/x")
    (True, False, False)
    """
    return _SAFE_FILE_PATH.fullmatch(path) is not None


def with_added_columns(table: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the columns of a table with those that only the rows have; the same object if there are none.

    >>> columns = [{"name": "id", "type": "long"}]
    >>> rows = {"fields": [*columns, {"name": "note", "type": "string", "nullable": True, "metadata": {}}]}
    >>> [column["name"] for column in with_added_columns({"fields": columns}, rows)["fields"]]
    ['id', 'note']
    """
    names = {column["name"] for column in table["fields"]}
    added = [column for column in schema["fields"] if column["name"] not in names]
    if not added:
        return table
    return {**table, "fields": [*table["fields"], *nullable_schema({"fields": added})["fields"]]}


def _is_session_obstacle(name: str, value: str) -> bool:
    if name.startswith((_TABLE_DEFAULTS, *_COMMIT_SERVICES)):
        return True
    return name in _FILE_SETTINGS and value.lower() != "false"


def _obstacles(table: TableFacts | None, schema: Mapping[str, Any], mode: WriteMode) -> Iterator[str]:
    if not schema["fields"] and (table is None or mode == "append"):
        yield "the rows have no column"
    yield from _schema_obstacles(schema)
    if table is None:
        yield from _new_table_obstacles(schema)
        return
    if table.partition_columns:
        yield "the table is partitioned"
    yield from _protocol_obstacles(table)
    for name in table.properties:
        if name.startswith("delta.") and name not in _SAFE_PROPERTIES:
            yield f"the table has the property {name}"
    if not re.fullmatch(r"-?\d+", table.properties.get(_INDEXED_COLUMNS, "0")):
        yield f"the property {_INDEXED_COLUMNS} is not a number"
    if mode == "overwrite" and table.properties.get(_APPEND_ONLY, "false").lower() != "false":
        yield "the table only takes new rows"
    yield from _constraint_obstacles(table.schema)
    yield from _added_column_obstacles(schema, table)
    yield from _difference_obstacles(schema, with_added_columns(table.schema, schema))


def _added_column_obstacles(schema: Mapping[str, Any], table: TableFacts) -> Iterator[str]:
    columns = table.schema["fields"]
    added = with_added_columns(table.schema, schema)["fields"][len(columns) :]
    names = {column["name"].lower() for column in columns}
    for column in added:
        if column["name"].lower() in names:
            yield f"column {column['name']} is new, and the table has the name in other letters"
    if "timestampNtz" not in table.features and any(
        "timestamp_ntz" in kind for _, kind in _types({"type": "struct", "fields": added})
    ):
        yield "a new column has type timestamp_ntz"
    yield from _new_table_obstacles({"type": "struct", "fields": added})


def _protocol_obstacles(table: TableFacts) -> Iterator[str]:
    readers, writers = table.protocol
    if table.protocol == _FEATURE_PROTOCOL:
        if unknown := sorted(table.features - _SAFE_FEATURES):
            yield f"the table has the feature {unknown[0]}"
    elif readers > _LEGACY_PROTOCOL[0] or writers > _LEGACY_PROTOCOL[1]:
        yield f"the table has protocol {readers}/{writers}"


def _schema_obstacles(schema: Mapping[str, Any]) -> Iterator[str]:
    for path, kind in _types(schema):
        if kind not in PRIMITIVE_TYPES and not _DECIMAL.fullmatch(kind):
            yield f"column {path} has type {kind}"
    for struct in _structs(schema):
        names = [column["name"] for column in struct["fields"]]
        if len({name.lower() for name in names}) != len(names):
            yield "names of columns differ in case only"


def _new_table_obstacles(schema: Mapping[str, Any]) -> Iterator[str]:
    for struct in _structs(schema):
        for column in struct["fields"]:
            if not _FORBIDDEN_CHARACTERS.isdisjoint(column["name"]):
                yield f"the name of column {column['name']!r} needs a column mapping"


def _constraint_obstacles(kind: Any, path: str = "") -> Iterator[str]:
    """Return the constraints and computed values that the schema of a table has."""
    match kind:
        case {"type": "struct", "fields": fields}:
            for column in fields:
                name = f"{path}.{column['name']}".lstrip(".")
                if not column["nullable"]:
                    yield f"column {name} of the table is not nullable"
                if unknown := sorted(frozenset(column.get("metadata") or ()) - _SAFE_COLUMN_METADATA):
                    yield f"column {name} of the table has {unknown[0]}"
                yield from _constraint_obstacles(column["type"], name)
        case {"type": "array", "elementType": element}:
            if not kind["containsNull"]:
                yield f"elements of {path} are not nullable"
            yield from _constraint_obstacles(element, path)
        case {"type": "map", "keyType": key, "valueType": value}:
            if not kind["valueContainsNull"]:
                yield f"values of {path} are not nullable"
            yield from _constraint_obstacles(key, path)
            yield from _constraint_obstacles(value, path)
        case _:
            return


def _difference_obstacles(kind: Any, table_kind: Any, path: str = "") -> Iterator[str]:
    """Return the columns that the table lacks or has with another type; rows may lack columns."""
    match kind, table_kind:
        case {"type": "struct", "fields": fields}, {"type": "struct", "fields": table_fields}:
            types = {column["name"]: column["type"] for column in table_fields}
            for column in fields:
                name = f"{path}.{column['name']}".lstrip(".")
                if column["name"] not in types:
                    yield f"column {name} is new"
                else:
                    yield from _difference_obstacles(column["type"], types[column["name"]], name)
        case {"type": "array"}, {"type": "array"}:
            yield from _difference_obstacles(kind["elementType"], table_kind["elementType"], path)
        case {"type": "map"}, {"type": "map"}:
            for part in ("keyType", "valueType"):
                yield from _difference_obstacles(kind[part], table_kind[part], path)
        case _:
            if kind != table_kind:
                yield f"column {path} has another type in the table"


def _types(kind: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Return the primitive types in a type, with the paths of their columns."""
    match kind:
        case {"type": "struct", "fields": fields}:
            for column in fields:
                yield from _types(column["type"], f"{path}.{column['name']}".lstrip("."))
        case {"type": "array", "elementType": element}:
            yield from _types(element, path)
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _types(key, path)
            yield from _types(value, path)
        case _:
            yield path, kind if isinstance(kind, str) else str(kind)


def _structs(kind: Any) -> Iterator[Mapping[str, Any]]:
    """Return a struct and all structs in it."""
    match kind:
        case {"type": "struct", "fields": fields}:
            yield kind
            for column in fields:
                yield from _structs(column["type"])
        case {"type": "array", "elementType": element}:
            yield from _structs(element)
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _structs(key)
            yield from _structs(value)
        case _:
            return


def _nullable_type(kind: Any) -> Any:
    match kind:
        case {"type": "struct"}:
            return nullable_schema(kind)
        case {"type": "array", "elementType": element}:
            return {"type": "array", "elementType": _nullable_type(element), "containsNull": True}
        case {"type": "map", "keyType": key, "valueType": value}:
            types = {"keyType": _nullable_type(key), "valueType": _nullable_type(value)}
            return {"type": "map", **types, "valueContainsNull": True}
        case _:
            return kind
