"""System tables and settings of a new schema, the same as dlt's.

The descriptions are part of the content hash: with other words, dlt and penstock would take each other's
schemas for changed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.schema.column import Column
from penstock.schema.frozen_map import FrozenMap, freeze
from penstock.schema.table import Table

if TYPE_CHECKING:
    from penstock.schema.types import DataType

SYSTEM_PREFIX: Final = "_dlt"
VERSION_TABLE: Final = "_dlt_version"
LOADS_TABLE: Final = "_dlt_loads"
STATE_TABLE: Final = "_dlt_pipeline_state"

ID_COLUMN: Final = "_dlt_id"
LOAD_ID_COLUMN: Final = "_dlt_load_id"
PARENT_ID_COLUMN: Final = "_dlt_parent_id"
LIST_INDEX_COLUMN: Final = "_dlt_list_idx"
ROOT_ID_COLUMN: Final = "_dlt_root_id"

JSON_NORMALIZER: Final = "dlt.common.normalizers.json.relational"


def _column(name: str, kind: DataType, description: str, *, nullable: bool = False) -> Column:
    return Column(name=name, data_type=kind, nullable=nullable, hints={"description": description})


def _system_table(name: str, description: str, *columns: Column) -> Table:
    return Table(
        name=name,
        columns={column.name: column for column in columns},
        write_disposition="skip",
        resource=name,
        extras={"description": description},
    )


VERSION_DEFINITION: Final = _system_table(
    VERSION_TABLE,
    "Created by DLT. Tracks schema updates",
    _column("version", "bigint", "Numeric version of the schema, incremented on each schema change"),
    _column("engine_version", "bigint", "Version of the dlt schema engine that created this schema"),
    _column("inserted_at", "timestamp", "Timestamp when this schema version was stored"),
    _column("schema_name", "text", "Name of the schema"),
    _column("version_hash", "text", "Unique hash of the schema content, used to detect changes"),
    _column("schema", "text", "JSON representation of the complete schema definition"),
)

LOADS_DEFINITION: Final = _system_table(
    LOADS_TABLE,
    "Created by DLT. Tracks completed loads",
    _column("load_id", "text", "Unique identifier of the load operation").with_hints(precision=64),
    _column("schema_name", "text", "Name of the schema associated with this load", nullable=True),
    _column("status", "bigint", "Status of the load operation (0 = success)"),
    _column("inserted_at", "timestamp", "Timestamp when the load was completed"),
    _column("schema_version_hash", "text", "Hash of the schema version used during this load", nullable=True),
)

SYSTEM_TABLES: Final = FrozenMap[Table](
    {table.name: table for table in (VERSION_DEFINITION, LOADS_DEFINITION)}
)

DEFAULT_SETTINGS: Final[FrozenMap[Any]] = freeze(
    {
        "detections": ["iso_timestamp"],
        "default_hints": {
            "not_null": [ID_COLUMN, ROOT_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN, LOAD_ID_COLUMN],
            "parent_key": [PARENT_ID_COLUMN],
            "root_key": [ROOT_ID_COLUMN],
            "unique": [ID_COLUMN],
            "row_key": [ID_COLUMN],
        },
    }
)

DEFAULT_NORMALIZERS: Final[FrozenMap[Any]] = freeze(
    {"names": "snake_case", "json": {"module": JSON_NORMALIZER}}
)
