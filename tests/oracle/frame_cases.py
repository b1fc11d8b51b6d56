"""Frames of one column each, one for every Arrow type, and their results with penstock and dlt."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from tests.oracle.oracle_client import BRIDGE, ask

from penstock.extract.frames import to_batch
from penstock.interfaces.file_schema import column_key
from penstock.normalize.frames import typed_files, with_decimal_precision
from penstock.schema import Schema, decide, naming_convention

MOMENT: Final = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
NAMING: Final = naming_convention()
FACETS: Final = ("data_type", "precision", "scale")

_VALUES: Final[list[tuple[str, list[Any], pa.DataType]]] = [
    ("flags", [True, False], pa.bool_()),
    ("int8s", [-128, 127], pa.int8()),
    ("int16s", [1], pa.int16()),
    ("int32s", [1], pa.int32()),
    ("int64s", [2**63 - 1, -(2**63)], pa.int64()),
    ("uint8s", [255], pa.uint8()),
    ("uint16s", [1], pa.uint16()),
    ("uint32s", [2**32 - 1], pa.uint32()),
    ("uint64s", [2**63 - 1], pa.uint64()),
    ("large_uint64s", [2**64 - 1], pa.uint64()),
    ("float16s", [1.5], pa.float16()),
    ("float32s", [1.5, float("inf")], pa.float32()),
    ("float64s", [0.1], pa.float64()),
    ("texts", ["a", "ü", ""], pa.string()),
    ("large_texts", ["a"], pa.large_string()),
    ("dictionaries", ["a", "a"], pa.dictionary(pa.int32(), pa.string())),
    ("bytes", [b"\x00\xff"], pa.binary()),
    ("large_bytes", [b"a"], pa.large_binary()),
    ("fixed_bytes", [b"abcd"], pa.binary(4)),
    ("decimals", [Decimal("1.50")], pa.decimal128(10, 2)),
    ("decimals_38", [Decimal(10) ** 37], pa.decimal128(38, 0)),
    ("decimals_50", [Decimal("1.500")], pa.decimal256(50, 3)),
    ("dates", [date(2024, 5, 6), date(1, 1, 1)], pa.date32()),
    ("dates_64", [date(2024, 5, 6)], pa.date64()),
    ("moments", [MOMENT.replace(microsecond=123456)], pa.timestamp("us", "UTC")),
    ("moments_in_berlin", [MOMENT], pa.timestamp("us", "Europe/Berlin")),
    ("moments_without_zone", [MOMENT.replace(tzinfo=None)], pa.timestamp("us")),
    ("moments_in_seconds", [MOMENT], pa.timestamp("s", "UTC")),
    ("moments_in_millis", [MOMENT], pa.timestamp("ms", "UTC")),
    ("moments_in_nanos", [MOMENT], pa.timestamp("ns", "UTC")),
    ("times", [time(7, 8, 9), time(7, 8, 9, 1)], pa.time64("us")),
    ("times_in_seconds", [time(7, 8, 9)], pa.time32("s")),
    ("durations", [timedelta(seconds=2)], pa.duration("us")),
    ("nulls", [], pa.null()),
    ("maps", [[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    ("structs", [{"x": 1}], pa.struct([("x", pa.int64())])),
    ("lists", [[1, 2]], pa.list_(pa.int64())),
    ("Odd Name. 1", [1], pa.int64()),
]
CASES: Final[dict[str, pa.Table]] = {
    name: pa.table({name: pa.array([*values, None], kind)}) for name, values, kind in _VALUES
}


def penstock_result(table: pa.Table) -> dict[str, Any]:
    """Return columns and values of the root table in the format of `frame_bridge`."""
    landed = to_batch(table.to_batches()[0])

    files = typed_files(landed.columns, rows=landed.rows.num_rows)
    decision = with_decimal_precision(
        decide(Schema("oracle").stored, "t", files.evidence), files.precisions, NAMING
    )
    columns = {
        name: {key: getattr(column, key) for key in FACETS if getattr(column, key) is not None}
        for name, column in decision.schema.tables["t"].columns.items()
        if not name.startswith("_dlt_")
    }
    names = {column["name"]: NAMING.normalize_path(column_key(column)) for column in landed.columns["fields"]}
    rows = landed.rows.rename_columns([names.get(name, name) for name in landed.rows.schema.names])
    return {"columns": columns, "rows": [coded(row) for row in rows.to_pylist()] if names else []}


def dlt_results() -> dict[str, Any]:
    """Return the results of dlt."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.arrow") for name in CASES]
        for path, table in zip(paths, CASES.values(), strict=True):
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        answer: dict[str, Any] = ask("frames", bridge=BRIDGE.with_name("frame_bridge.py"), paths=paths)
    return answer


def coded(value: Any) -> Any:
    """Encode values like the bridge."""
    match value:
        case dict():
            return {key: coded(item) for key, item in value.items()}
        case list() | tuple():
            return [coded(item) for item in value]
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return value
