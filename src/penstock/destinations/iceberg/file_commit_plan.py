"""Decides whether rows may be committed to an Iceberg table as one file of the driver. Pure functions.

Only to tables whose layout and properties are known to ask nothing else of a writer: for all others Spark
splits rows into partitions, sorts and encrypts them, and checks that required values exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FORMAT_VERSIONS: Final = frozenset((2, 3))
CODEC: Final = "write.parquet.compression-codec"
DEFAULT_CODEC: Final = "zstd"
_CODECS: Final = {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "uncompressed": "none"}
"""The codecs of Parquet by the words of Iceberg, with those of pyarrow."""
_SAFE_VALUES: Final = {"write.format.default": frozenset(("parquet",)), CODEC: frozenset(_CODECS)}
_SAFE_PROPERTIES: Final = frozenset(
    (
        "write.data.path",
        "write.folder-storage.path",
        "write.target-file-size-bytes",
        "write.distribution-mode",
    )
)
# Iceberg's library follows these itself, or they are about merges and large writes.
_SAFE_PREFIXES: Final = (
    *("write.metadata.", "write.manifest.", "write.object-storage.", "write.summary."),
    *("write.merge.", "write.update.", "write.delete.", "write.spark."),
)
_WRITE, _ENCRYPTION = "write.", "encryption."
_PRIMITIVES: Final = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", tz="UTC"): "timestamptz",
}
_FIELD_ID: Final = "PARQUET:field_id"


def find_obstacle(metadata: Mapping[str, Any], rows: pa.Schema) -> str | None:
    """Return why Spark has to write rows of this schema; None if a file with them may be committed.

    `metadata` is that of the table, as the specification writes it in JSON.
    """
    return next(_obstacles(metadata, rows), None)


def current_fields(metadata: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the columns of a table by name.

    >>> schema = {"schema-id": 1, "fields": [{"id": 7, "name": "id", "type": "long", "required": False}]}
    >>> current_fields({"current-schema-id": 1, "schemas": [schema]})["id"]["id"]
    7
    """
    schema = _by_id(metadata, "schemas", "schema-id", "current-schema-id")
    return {field["name"]: field for field in schema["fields"]}


def with_field_ids(rows: pa.Table, metadata: Mapping[str, Any]) -> pa.Table:
    """Return rows whose columns have the ids by which readers find them, whatever their names become."""
    fields = current_fields(metadata)
    columns = [field.with_metadata({_FIELD_ID: str(fields[field.name]["id"])}) for field in rows.schema]
    return rows.cast(pa.schema(columns))


def codec(metadata: Mapping[str, Any]) -> str:
    """Return the compression of the files of a table, as pyarrow names it."""
    return _CODECS[metadata.get("properties", {}).get(CODEC, DEFAULT_CODEC)]


def _obstacles(metadata: Mapping[str, Any], rows: pa.Schema) -> Iterator[str]:
    if metadata["format-version"] not in _FORMAT_VERSIONS:
        yield f"the table has format version {metadata['format-version']}"
    if _by_id(metadata, "partition-specs", "spec-id", "default-spec-id")["fields"]:
        yield "the table has partitions"
    if metadata["default-sort-order-id"] != 0:
        yield "the table has a sort order"
    for name, value in metadata.get("properties", {}).items():
        if not _is_safe(name, value):
            yield f"the table has the property {name}"
    fields = current_fields(metadata)
    for field in fields.values():
        if field["required"] or "write-default" in field:
            yield f"column {field['name']} is required or has a default value"
    for column in rows:
        stored = fields[column.name]["type"] if column.name in fields else None
        if stored is None or stored != _iceberg_type(column.type):
            yield f"column {column.name} is {stored} in the table and {column.type} in the rows"


def _by_id(metadata: Mapping[str, Any], items: str, item_id: str, wanted: str) -> Mapping[str, Any]:
    item: Mapping[str, Any] = next(item for item in metadata[items] if item[item_id] == metadata[wanted])
    return item


def _is_safe(name: str, value: str) -> bool:
    if name.startswith(_ENCRYPTION):
        return False
    if not name.startswith(_WRITE) or name in _SAFE_PROPERTIES or name.startswith(_SAFE_PREFIXES):
        return True
    return value in _SAFE_VALUES.get(name, ())


def _iceberg_type(kind: pa.DataType) -> str | None:
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return _PRIMITIVES.get(kind)
