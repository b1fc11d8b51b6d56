"""Hostile rows and lines through a whole run: loaded values, and quarantined rows with their reasons."""

from __future__ import annotations

import fnmatch
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.corpus.loaded_rows import ALL, NAN, NO_JSON, QUARANTINED
from tests.flow.factories import make_pipeline

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

LONG = 21_000_000
SYSTEM = ("_dlt_id", "_dlt_load_id", "_dlt_parent_id", "_dlt_list_idx")


def rows() -> Iterator[Any]:
    for number, case in enumerate(ALL):
        for index, value in enumerate(case.values):
            yield {"case": number, "nth": index, f"k{number}": value}
    yield from (row for row, _ in QUARANTINED.values())


def plain(frame: DataFrame) -> list[dict[str, Any]]:
    """Return rows without nulls. Timestamps are numbers: Python cannot hold all of them in every zone."""
    columns = [
        f"unix_micros(`{name}`) AS `{name}`" if kind == "timestamp" else f"`{name}`"
        for name, kind in frame.dtypes
    ]
    return [
        {
            name: bytes(value) if isinstance(value, bytearray) else value
            for name, value in row.asDict().items()
            if value is not None
        }
        for row in frame.selectExpr(*columns).collect()
    ]


def same(result: Any, expected: Any) -> bool:
    if expected == NAN:
        return isinstance(result, float) and math.isnan(result)
    if isinstance(expected, dict):
        return bool(json.loads(result) == expected)
    if isinstance(expected, Decimal):
        return isinstance(result, Decimal) and result == expected
    return type(result) is type(expected) and repr(result) == repr(expected)


def differing(result: dict[str, Any], expected: dict[str, Any]) -> Any:
    """Return None if the columns with values are the expected ones, else the difference."""
    rest = dict(result)
    for pattern, value in expected.items():
        hits = [name for name in rest if fnmatch.fnmatchcase(name, pattern) and same(rest[name], value)]
        if len(hits) != 1:
            return str(result)[:500], str(expected)[:500]
        del rest[hits[0]]
    return rest or None


def test_every_value_of_hostile_rows_is_loaded(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run(rows(), table_name="odd")

    dataset = pipeline.dataset()
    root = {(row["case"], row["nth"]): row for row in plain(dataset["odd"].spark())}
    ids = {row["_dlt_id"]: row["case"] for row in root.values()}
    wrong: list[Any] = []
    for number, case in enumerate(ALL):
        for nth, expected in enumerate(case.expected):
            result = {
                name.removeprefix(f"k{number}"): value
                for name, value in root[number, nth].items()
                if name not in (*SYSTEM, "case", "nth")
            }
            if (why := differing(result, expected)) is not None:
                wrong.append((case.name, why))
        for suffix, expected_rows in case.children.items():
            table = f"odd__k{number}{suffix.removeprefix('__') and suffix}"
            found_rows = [
                {name: value for name, value in row.items() if name not in SYSTEM}
                for row in sorted(plain(dataset[table].spark()), key=lambda row: row["_dlt_list_idx"])
            ]
            if found_rows != expected_rows:
                wrong.append((case.name, table, found_rows, expected_rows))
    assert wrong == []
    assert len(root) == len(ids) == sum(len(case.values) for case in ALL)
    quarantined = dataset["_dlt_quarantine"].spark().collect()
    assert sorted(row["reason"] for row in quarantined) == sorted(
        reason for _, reason in QUARANTINED.values()
    )
    assert f"of odd {len(QUARANTINED)} could not be written" in str(info)


@pytest.mark.at_length
def test_rows_of_unusual_shapes_are_loaded(spark: SparkSession, location: str, tmp_path: Path) -> None:
    @penstock.resource
    def shapes() -> Iterator[Any]:
        yield from (7, "x", {}, {"_dlt_id": "mine", "_dlt_load_id": "theirs"}, {"_corrupt_record": "c"})
        yield [{"a": 1}, {"a": 2}, None]
        yield [[8, 9]]
        yield {"raw": 1, "row": 2, "id": 3, "text": 4, "file": 5, "position": 6, "corrupt": 7}

    pipeline = make_pipeline(location, tmp_path, spark)

    long = penstock.resource([{"a": "x" * LONG}], name="long")

    pipeline.run([shapes, long, penstock.resource([{"a": 1}], name="../../etc/passwd")])

    dataset = pipeline.dataset()
    (renamed,) = (name for name in dataset["shapes"].spark().columns if name.startswith("_dlt_load_id_"))
    result = [
        {name: value for name, value in row.items() if name not in SYSTEM}
        for row in plain(dataset["shapes"].spark())
    ]
    assert sorted(map(str, result)) == sorted(
        map(
            str,
            [
                {"value": 7},
                {"value__v_text": "x"},
                {},
                {},
                {renamed: "theirs"},
                {"_corrupt_record": "c"},
                {"a": 1},
                {"a": 2},
                {},
                {"raw": 1, "row": 2, "id": 3, "text": 4, "file": 5, "position": 6, "corrupt": 7},
            ],
        )
    )
    assert "mine" in [row["_dlt_id"] for row in plain(dataset["shapes"].spark())]
    assert [row["value"] for row in plain(dataset["shapes__value"].spark())] == [8, 9]
    assert dataset["long"].spark().selectExpr("length(a) AS size").collect()[0]["size"] == LONG
    assert plain(dataset["_etc_passwd"].spark())[0]["a"] == 1


def test_lines_that_are_not_json_are_quarantined(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    good = [b'{"a":1}', '{"a":2,"b":"ä"}'.encode()]
    lines = [good[0], *NO_JSON.values(), good[1]]
    pipeline.extract([{"a": number} for number in range(len(lines))], table_name="lines")
    (part,) = Path(location).rglob("data/**/*.parquet")
    texts = pa.Array.from_buffers(pa.string(), len(lines), pa.array(lines, pa.binary()).buffers())
    pq.write_table(pa.table({"row": texts}), part)

    info = pipeline.run()

    dataset = pipeline.dataset()
    assert sorted(row["a"] for row in plain(dataset["lines"].spark())) == [1, 2]
    quarantined = dataset["_dlt_quarantine"].spark().selectExpr("CAST(raw AS BINARY) AS raw").collect()
    assert sorted(bytes(row["raw"]) for row in quarantined) == sorted(NO_JSON.values())
    assert info is not None
