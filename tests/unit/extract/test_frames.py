from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.extract.extraction import extract_data, table_rows

import penstock
from penstock.errors import ResourceFailed, UnsupportedColumnType
from penstock.extract.frames import frame_batches, to_batch
from penstock.extract.parts import TypedPartWriter
from penstock.extract.plan import Rotation, Workload
from penstock.interfaces.file_schema import column_key, file_column_name
from penstock.package import Package, Packages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.extract.run import ExtractResult
    from penstock.package.extract_manifest import ExtractedTable

TABLE = pa.table(
    {
        "id": [1, 2],
        "on": [date(2024, 1, 2), None],
        "at": pa.array([datetime(2024, 1, 2, 3, tzinfo=UTC)] * 2, pa.timestamp("ns", "UTC")),
        "price": [Decimal("1.50"), Decimal("2.00")],
        "tags": [["a"], []],
    }
)


class Polars:
    """A frame with the Arrow interface of polars."""

    __module__ = "polars.dataframe.frame"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


class LazyFrame:
    """A frame with the interface of a lazy frame of polars."""

    __module__ = "polars.lazyframe.frame"

    def collect(self) -> Polars:
        return Polars()


Polars.__name__ = "DataFrame"


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Packages.at(str(tmp_path)).package("17.5")


def files_of(package: Package, table: ExtractedTable) -> pa.Table:
    """Return the user's columns of a table."""
    files = pq.read_table(f"{package.path}/{table.folder}")
    return files.select([name for name in files.column_names if not name.startswith("_dlt_")])


def typed_rows(package: Package, done: ExtractResult) -> list[dict[str, Any]]:
    return [row for table in done.extracted.tables for row in files_of(package, table).to_pylist()]


def column_of(values: pa.Array) -> tuple[Any, list[Any]]:
    """Return a column as written: the type that Spark reads, and the values."""
    batch = to_batch(pa.record_batch({"x": values}))
    (column,) = batch.columns["fields"]
    return column["type"], batch.rows["x"].to_pylist()


@pytest.mark.parametrize(
    "frame",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        pd.DataFrame(TABLE.to_pydict()),
        Polars(),
        LazyFrame(),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy"],
)
def test_a_frame_is_written_typed_with_its_columns(package: Package, frame: Any) -> None:
    done = extract_data(frame, package, table_name="t")

    (table,) = done.extracted.tables
    assert (table.data_format, table.rows, table.files) == ("typed", 2, 1)
    assert table.columns is not None
    kinds = {column_key(column): column["type"] for column in table.columns["fields"]}
    assert {key: kind for key, kind in kinds.items() if isinstance(kind, str)} == {
        "id": "long",
        "on": "date",
        "at": "timestamp",
        "price": kinds["price"],
    }
    assert kinds["tags"]["elementType"] == "string"
    assert kinds["price"].startswith("decimal(")
    table_files = files_of(package, table)
    assert table_files.schema.field("at").type == pa.timestamp("us", "UTC")
    assert table_files["id"].to_pylist() == [1, 2]
    assert table_files["price"].to_pylist() == [Decimal("1.50"), Decimal("2.00")]


@pytest.mark.parametrize(
    ("values", "kind", "written"),
    [
        (pa.array([1, None], pa.int8()), "byte", [1, None]),
        (pa.array([1], pa.uint8()), "long", [1]),
        (pa.array([2**32 - 1], pa.uint32()), "long", [2**32 - 1]),
        (pa.array([5], pa.uint64()), "long", [5]),
        (pa.array([2**64 - 1], pa.uint64()), "decimal(20,0)", [Decimal(2**64 - 1)]),
        (pa.array([1.5], pa.float16()), "float", [1.5]),
        (pa.array(["a"], pa.large_string()), "string", ["a"]),
        (pa.array(["a"], pa.string_view()), "string", ["a"]),
        (pa.array(["a", "a"]).dictionary_encode(), "string", ["a", "a"]),
        (pa.array([b"ab"], pa.binary(2)), "binary", [b"ab"]),
        (pa.array([b"ab"], pa.large_binary()), "binary", [b"ab"]),
        (pa.array([Decimal("1.5")], pa.decimal128(5, 2)), "decimal(5,2)", [Decimal("1.50")]),
        (pa.array([Decimal(500)], pa.decimal128(5, -2)), "decimal(7,0)", [Decimal(500)]),
        (pa.array([Decimal("1.5")], pa.decimal256(50, 2)), "decimal(38,2)", [Decimal("1.50")]),
        (pa.array([Decimal(10) ** 45], pa.decimal256(50, 2)), "string", [f"1{'0' * 45}.00"]),
        (pa.array([date(2024, 1, 2)], pa.date64()), "date", [date(2024, 1, 2)]),
        (
            pa.array([1_704_164_400_000_000_999], pa.timestamp("ns")),
            "timestamp",
            [datetime(2024, 1, 2, 3, tzinfo=UTC)],
        ),
        (
            pa.array([datetime(2024, 1, 2, 3)], pa.timestamp("s")),
            "timestamp",
            [datetime(2024, 1, 2, 3, tzinfo=UTC)],
        ),
        (
            pa.array([datetime(2024, 1, 2, 3, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin")),
            "timestamp",
            [datetime(2024, 1, 2, 3, tzinfo=UTC)],
        ),
        (pa.array([timedelta(seconds=2)], pa.duration("ns")), "long", [2_000_000]),
        (pa.array([timedelta(seconds=2)], pa.duration("s")), "long", [2_000_000]),
        (pa.array([uuid.UUID(int=1)], pa.uuid()), "string", [str(uuid.UUID(int=1))]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_arrow_type_has_a_rule(values: pa.Array, kind: str, written: list[Any]) -> None:
    assert column_of(values) == (kind, written)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([time(1, 2, 3)], pa.time32("s")), "01:02:03"),
        (pa.array([time(1, 2, 3, 500000)], pa.time32("ms")), "01:02:03.500000"),
        (pa.array([time(1, 2, 3, 4)], pa.time64("ns")), "01:02:03.000004"),
    ],
)
def test_a_time_of_day_has_the_same_text_as_in_python_rows(values: pa.Array, text: str) -> None:
    batch = to_batch(pa.record_batch({"x": values}))

    assert batch.columns["fields"][0]["metadata"] == {"kind": "time"}
    assert batch.rows["x"].to_pylist() == [text] == [values[0].as_py().isoformat()]


def test_nested_values_follow_the_same_rules() -> None:
    values = pa.array(
        [
            [{"n": 1, "at": datetime(2024, 1, 2, tzinfo=UTC), "none": None, "empty": {}, "m": [("k", 1)]}],
            None,
        ],
        pa.large_list(
            pa.struct(
                {
                    "n": pa.uint16(),
                    "at": pa.timestamp("ns", "UTC"),
                    "none": pa.null(),
                    "empty": pa.struct([]),
                    "m": pa.map_(pa.string(), pa.uint8()),
                }
            )
        ),
    )

    kind, written = column_of(values)

    assert {inner["name"]: inner["type"] for inner in kind["elementType"]["fields"]} == {
        "n": "long",
        "at": "timestamp",
        "m": {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
    }
    assert written == [[{"n": 1, "at": datetime(2024, 1, 2, tzinfo=UTC), "m": [("k", 1)]}], None]


def test_columns_of_nulls_are_not_written_and_their_rows_are() -> None:
    batch = to_batch(
        pa.record_batch({"none": pa.nulls(3), "empty": [{}, {}, None], "nothings": [[None], [], None]})
    )

    assert batch.columns["fields"] == []
    assert batch.rows.num_rows == 3


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            pa.record_batch([pa.array([1]), pa.array([2])], names=["a", "a"]),
            "column a of .* two columns",
        ),
        (
            pa.record_batch({"i": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
            "column i of .*interval",
        ),
        (
            pa.record_batch({"s": [{"u": None}]}).set_column(
                0,
                "s",
                pa.StructArray.from_arrays(
                    [pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])], ["u"]
                ),
            ),
            "column s.u of .*union",
        ),
    ],
)
def test_an_unsupported_type_is_refused_by_the_name_of_its_column(
    batch: pa.RecordBatch, message: str
) -> None:
    with pytest.raises(UnsupportedColumnType, match=message):
        to_batch(batch)


def test_unusual_column_names_have_plain_names_in_files(package: Package) -> None:
    keys = ["a", "A", "a.b", "we ird", 'q"`', "", "_metadata", "c_0123456789abcdef", "ü", "c"]
    frame = pa.table([pa.array([index]) for index in range(len(keys))], names=keys)

    done = extract_data(frame, package, table_name="t")

    (table,) = done.extracted.tables
    assert table.columns is not None
    table_files = files_of(package, table)
    assert [column_key(column) for column in table.columns["fields"]] == keys
    assert [table_files[column["name"]].to_pylist() for column in table.columns["fields"]] == [
        [index] for index in range(len(keys))
    ]
    assert len({name.lower() for name in table_files.schema.names}) == len(keys)


@given(keys=st.lists(st.text(max_size=6), unique=True, max_size=20))
def test_names_in_files_differ_without_regard_to_case_if_their_keys_differ(keys: list[str]) -> None:
    names = [file_column_name(key) for key in keys]

    assert len({name.lower() for name in names}) == len(keys)
    assert all(name.replace("_", "a").isalnum() and name.isascii() for name in names)


def test_frames_and_rows_of_one_table_are_stored_in_separate_folders(package: Package) -> None:
    def frames() -> Iterator[Any]:
        yield TABLE.select(["id"])
        yield {"id": 3}
        yield pd.DataFrame({"id": [4]})
        yield pa.table({"id": ["five"]})
        yield pa.table({"id": [6], "more": [True]})

    seen: list[str] = []

    def look(item: Any) -> Any:
        seen.append(type(item).__name__)
        return item

    resource = penstock.resource(frames).add_map(look)

    done = extract_data(resource, package)

    assert seen == ["Table", "dict", "DataFrame", "Table", "Table"]
    assert [
        (column_of.table, column_of.data_format, column_of.rows) for column_of in done.extracted.tables
    ] == [
        ("frames", "flat", 3),
        ("frames", "rows", 1),
        ("frames", "flat", 1),
        ("frames", "flat", 1),
    ]
    first, _, texts, wider = done.extracted.tables
    assert wider.columns is not None
    assert [column["name"] for column in wider.columns["fields"]] == ["id", "more"]
    assert (first.files, first.resource) == (1, "frames")
    assert files_of(package, texts)["id"].to_pylist() == ["five"]
    assert table_rows(package, done, "rows") == {"frames": [{"id": 3}]}
    assert (done.report.rows, done.report.resources) == (6, {"frames": 6})


def test_a_limit_counts_a_frame_as_one_item_or_its_rows(package: Package) -> None:
    def frames() -> Iterator[Any]:
        while True:
            yield TABLE.select(["id"])

    by_items = extract_data(penstock.resource(frames).add_limit(2), package)
    by_rows = extract_data(penstock.resource(frames).add_limit(3, count_rows=True), package)

    assert (by_items.report.rows, by_rows.report.rows) == (4, 4)


def test_a_large_frame_is_divided_into_row_groups_and_files(package: Package) -> None:
    frame = pa.table({"n": range(25_000)})
    rotation = Rotation(row_group_bytes=40_000, file_bytes=100_000)

    done = extract_data(frame, package, table_name="t", rotation=rotation)

    (table,) = done.extracted.tables
    assert (table.rows, table.bytes, table.files) == (25_000, 200_000, 2)
    paths = [f"{package.path}/{table.folder}/{name}" for name in package.store.names(table.folder)]
    assert [pq.ParquetFile(path).metadata.num_row_groups for path in paths] == [3, 2]
    assert files_of(package, table)["n"].to_pylist() == list(range(25_000))


def test_small_frames_share_a_row_group(package: Package) -> None:
    def frames() -> Iterator[Any]:
        for number in range(100):
            yield pa.table({"n": [number]})

    (table,) = extract_data(penstock.resource(frames), package).extracted.tables

    assert (table.rows, table.files) == (100, 1)
    assert files_of(package, table).num_rows == 100


def test_the_remainder_of_a_large_frame_does_not_keep_the_frame_in_memory(package: Package) -> None:
    batches = list(frame_batches(pa.table({"n": range(100_001)}), "arrow", Rotation()))
    writer = TypedPartWriter(package.store, "data", Rotation(), batches[0].columns)

    for batch in batches:
        writer.write(batch)

    assert [batch.rows.num_rows for batch in batches] == [100_000, 1]
    assert [rows.get_total_buffer_size() for rows in writer._buffer] == [8]
    writer.close()


def test_a_missing_number_of_pandas_is_null_and_its_index_is_not_written(package: Package) -> None:
    frame = pd.DataFrame({"n": [1.5, float("nan")]}, index=pd.Index([7, 8], name="key"))

    done = extract_data(frame, package, table_name="t")

    assert typed_rows(package, done) == [{"n": 1.5}, {"n": None}]


def test_a_frame_without_rows_writes_no_file(package: Package) -> None:
    done = extract_data(pa.table({"a": pa.array([], pa.int64())}), package, table_name="t")

    assert (done.report.rows, done.extracted.tables) == (0, ())


def test_a_column_that_arrow_cannot_type_is_an_error_of_the_resource(package: Package) -> None:
    with pytest.raises(ResourceFailed, match="column mixed"):
        extract_data(pd.DataFrame({"mixed": [1, "x"]}), package, table_name="t")


def test_the_frames_of_a_failed_resource_are_discarded(package: Package) -> None:
    def good() -> Iterator[Any]:
        yield pa.table({"id": [1]})

    def bad() -> Iterator[Any]:
        yield pa.table({"id": [2]})
        raise ZeroDivisionError

    resources = [penstock.resource(part, table_name="t") for part in (good, bad)]
    done = extract_data(resources, package, workload=Workload(on_error="continue"))

    assert typed_rows(package, done) == [{"id": 1}]
    assert done.report.resources == {"good": 1, "bad": 0}


def test_a_page_can_contain_frames(package: Package) -> None:
    def pages() -> Iterator[Any]:
        yield [pa.table({"n": [1, 2]}), pa.table({"n": [3]})]
        yield [pa.table({"n": [4]}), {"n": 5}]

    done = extract_data(pages, package)

    assert sorted(row["n"] for row in table_rows(package, done)["pages"]) == [1, 2, 3, 4, 5]
    assert done.report.resources == {"pages": 5}
    assert done.report.quarantined_rows == {}
