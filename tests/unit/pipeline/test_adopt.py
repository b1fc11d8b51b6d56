"""Adoption of existing Delta tables: every test would fail if a Spark session were built."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

import penstock
from penstock import destinations
from penstock.errors import UsageError
from penstock.package.lease import LeaseTimes
from penstock.pipeline.adopt import plan_adoption, save_adoption
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ROWS = [
    {"id": number, "name": f"order {number}", "updated_at": NOON + timedelta(seconds=min(number, 4))}
    for number in range(1, 6)
]
"""Five rows, of which the last two have the greatest value of the cursor."""
NEW = [
    {"id": 6, "name": "order 6", "updated_at": NOON + timedelta(seconds=4)},
    {"id": 7, "name": "order 7", "updated_at": NOON + timedelta(seconds=5)},
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return the folder of a dataset with the table `orders`, in two files."""
    folder = tmp_path / "lake" / "demo"
    for rows in (ROWS[:4], ROWS[4:]):
        write_deltalake(str(folder / "orders"), pa.Table.from_pylist(rows), mode="append")
    return folder


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    delta = destinations.delta(bucket_url=str(tmp_path / "lake"))
    return penstock.pipeline(
        "shop", destination=delta, dataset_name="demo", pipelines_dir=str(tmp_path / "pipelines")
    )


class Orders:
    """A resource that yields the rows from the start value on, and records it."""

    def __init__(self, rows: list[dict[str, Any]], *, key: Any = "id", path: str = "updated_at") -> None:
        self.starts: list[Any] = []

        def orders(
            cursor: Any = penstock.sources.incremental(path),
        ) -> Iterator[Any]:
            self.starts.append(cursor.start_value)
            yield [row for row in rows if cursor.start_value is None or row[path] >= cursor.start_value]

        self.resource = penstock.resource(orders, name="orders", primary_key=key)


def stored(folder: Path, table: str = "orders") -> DeltaTable:
    return DeltaTable(str(folder / table))


def ids(folder: Path) -> list[int]:
    return sorted(stored(folder).to_pyarrow_table()["id"].to_pylist())


def write(folder: Path, table: pa.Table, name: str = "other", **options: Any) -> None:
    write_deltalake(str(folder / name), table, **options)


def times(*values: datetime | None) -> pa.Array:
    return pa.array(values, pa.timestamp("us", "UTC"))


@pytest.mark.parametrize("key", ["id", ["id"]])
def test_the_next_run_loads_only_new_rows(lake: Path, pipeline: Pipeline, key: Any) -> None:
    adoption = pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    adopted_version = stored(lake).version()
    source = Orders(ROWS + NEW, key=key)
    pipeline.run(source.resource)

    assert source.starts == [NOON + timedelta(seconds=4)]
    assert (adoption.table.rows, adoption.table.version, adopted_version) == (5, 1, 1)
    assert ids(lake) == [1, 2, 3, 4, 5, 6, 7]
    assert stored(lake).version() == 2
    rows = pipeline.dataset()["orders"].arrow().to_pylist()
    assert sorted(row["id"] for row in rows if row["_dlt_id"] is None) == [1, 2, 3, 4, 5]
    assert {row["name"] for row in rows} == {f"order {number}" for number in range(1, 8)}


def test_a_run_without_new_rows_loads_nothing(lake: Path, pipeline: Pipeline) -> None:
    pipeline.adopt("orders", cursor="updated_at", primary_key="id")

    pipeline.run(Orders(ROWS).resource)

    assert stored(lake).version() == 1


@pytest.mark.parametrize("leaves_nulls_out", [False, True])
def test_rows_without_a_key_are_recognized_by_their_columns(
    tmp_path: Path, pipeline: Pipeline, leaves_nulls_out: bool
) -> None:
    folder = tmp_path / "lake" / "demo"
    write(
        folder,
        pa.table({"id": [1], "note": pa.array([None], pa.string()), "updated_at": times(NOON)}),
        "orders",
    )
    row = {"id": 1, "updated_at": NOON} | ({} if leaves_nulls_out else {"note": None})
    adoption = pipeline.adopt("orders", cursor="updated_at")

    pipeline.run(Orders([row, {"id": 2, "updated_at": NOON}], key=None).resource)

    assert "without a primary key" in adoption.notes[0]
    assert ids(folder) == [1, 2]


def test_a_source_may_have_the_cursor_as_text_under_another_name(lake: Path, pipeline: Pipeline) -> None:
    text_format = "%Y-%m-%dT%H:%M:%SZ"
    rows = [
        # The values of ROWS have several types; those of this column are timestamps.
        {"id": row["id"], "changedAt": row["updated_at"].strftime(text_format)}  # type: ignore[attr-defined]
        for row in ROWS + NEW
    ]
    pipeline.adopt(
        "orders", cursor="updated_at", primary_key="id", cursor_path="changedAt", cursor_format=text_format
    )
    source = Orders(rows, path="changedAt")
    pipeline.run(source.resource)

    assert source.starts == ["2026-05-01T12:00:04Z"]
    assert ids(lake) == [1, 2, 3, 4, 5, 6, 7]


def test_more_last_rows_than_the_state_holds_are_kept_in_a_file(tmp_path: Path, pipeline: Pipeline) -> None:
    folder = tmp_path / "lake" / "demo"
    count = 10_001
    write(folder, pa.table({"id": range(count), "updated_at": times(*[NOON] * count)}), "orders")
    rows = [{"id": number, "updated_at": NOON} for number in range(count + 3)]

    pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    (entry,) = pipeline.state["sources"]["shop"]["resources"]["orders"]["incremental"].values()
    pipeline.run(Orders(rows).resource)

    assert entry["unique_hashes"] == []
    assert ids(folder) == list(range(count + 3))


def test_a_dry_run_changes_nothing(lake: Path, pipeline: Pipeline, tmp_path: Path) -> None:
    adoption = pipeline.adopt("orders", cursor="updated_at", primary_key="id", dry_run=True)

    document = adoption.asdict()
    assert (document["rows"], document["load_id"]) == (5, None)
    assert document["cursor"] == {
        "column": "updated_at",
        "path": "updated_at",
        "last_value": "2026-05-01T12:00:04+00:00",
        "rows_at_last_value": 2,
    }
    assert pipeline.first_run
    assert [path.name for path in lake.iterdir()] == ["orders"]
    assert not (tmp_path / "pipelines").exists()


def test_types_and_keys_get_into_the_schema(lake: Path, pipeline: Pipeline) -> None:
    write(
        lake,
        pa.table(
            {
                "id": pa.array([1], pa.int16()),
                "price": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
                "day": pa.array([date(2026, 5, 1)]),
                "at": pa.array([datetime(2026, 5, 1)], pa.timestamp("us")),
                "tags": pa.array([["a"]]),
            }
        ),
        partition_by="day",
    )

    adoption = pipeline.adopt("other", primary_key=["id"], resource="things", source="crm")

    table = pipeline.schemas["crm"].tables["other"]
    columns = {name: column.to_dict() for name, column in table.columns.items()}
    assert (table.resource, table.has_seen_data, adoption.new_columns) == (
        "things",
        True,
        ("_dlt_load_id", "_dlt_id"),
    )
    assert (columns["id"]["precision"], columns["id"]["primary_key"]) == (16, True)
    assert (columns["price"]["precision"], columns["price"]["scale"]) == (9, 2)
    assert (columns["day"]["data_type"], columns["day"]["partition"]) == ("date", True)
    assert (columns["at"]["data_type"], columns["at"]["timezone"]) == ("timestamp", False)
    assert (columns["tags"]["data_type"], "x-nested-type" in columns["tags"]) == ("json", True)


def test_only_files_that_may_have_the_last_value_are_read(lake: Path, pipeline: Pipeline) -> None:
    first, second = sorted(pa.table(stored(lake).get_add_actions(flatten=True)).to_pylist(), key=_last_id)
    (lake / "orders" / first["path"]).write_bytes(b"not read")

    adoption = pipeline.adopt("orders", cursor="id", dry_run=True, primary_key="id")

    assert adoption.cursor is not None
    assert adoption.cursor.last_value == second["max.id"] == 5


def _last_id(action: dict[str, Any]) -> int:
    last_id: int = action["max.id"]
    return last_id


def test_a_partition_column_may_be_the_cursor(lake: Path, pipeline: Pipeline) -> None:
    days = [date(2026, 5, day) for day in (1, 2, 2)]
    write(lake, pa.table({"id": [1, 2, 3], "day": days}), partition_by="day")

    adoption = pipeline.adopt("other", cursor="day", primary_key="id", dry_run=True)

    assert adoption.cursor is not None
    assert adoption.cursor.last_value == date(2026, 5, 2)
    assert sorted(adoption.cursor.boundary["id"].to_pylist()) == [2, 3]


def test_a_table_without_rows_has_no_last_value(lake: Path, pipeline: Pipeline) -> None:
    write(lake, pa.table({"id": pa.array([], pa.int64())}))

    adoption = pipeline.adopt("other", cursor="id", primary_key="id")

    assert "reads from the initial value" in adoption.notes[0]
    assert pipeline.state["sources"] == {}


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (times(NOON, None), r"nulls \(1\)"),
        (pa.array([1.0, float("nan")]), "NaN"),
        (pa.array([True, False]), "type bool, which has no order"),
        (pa.array([["a"], ["b"]]), "type json, which has no order"),
    ],
)
def test_a_cursor_without_an_order_is_refused(
    lake: Path, pipeline: Pipeline, column: pa.Array, problem: str
) -> None:
    write(lake, pa.table({"id": [1, 2], "at": column}))

    with pytest.raises(UsageError, match=problem):
        pipeline.adopt("other", cursor="at", primary_key="id")
    assert pipeline.first_run


@pytest.mark.parametrize(
    ("name", "column", "problem"),
    [
        ("orderId", pa.array([1]), "renames orderId -> order_id"),
        ("weight", pa.array([1.5], pa.float32()), "has type FLOAT, and loads write DOUBLE"),
    ],
)
def test_columns_that_loads_cannot_continue_are_refused(
    lake: Path, pipeline: Pipeline, name: str, column: pa.Array, problem: str
) -> None:
    write(lake, pa.table({name: column}))

    with pytest.raises(UsageError, match=problem):
        pipeline.adopt("other")


def test_names_are_kept_by_a_schema_with_another_naming_convention(
    lake: Path, pipeline: Pipeline, tmp_path: Path
) -> None:
    write(lake, pa.table({"orderId": [1]}))
    schema = penstock.Schema("shop").to_dict()
    schema["normalizers"]["names"] = "sql_cs_v1"
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "shop.schema.yaml").write_text(json.dumps(schema))
    pipeline.import_schema_path = str(folder)

    pipeline.adopt("other", cursor="orderId", primary_key="orderId")
    pipeline.run([{"orderId": 2}], table_name="other")

    rows = stored(lake, "other").to_pyarrow_table()
    assert sorted(rows["orderId"].to_pylist()) == [1, 2]
    assert rows.column_names == ["orderId", "_dlt_load_id", "_dlt_id"]


def test_a_table_with_a_feature_that_changes_its_rows_is_refused(lake: Path, pipeline: Pipeline) -> None:
    write(lake, pa.table({"id": [1]}), configuration={"delta.enableDeletionVectors": "true"})

    with pytest.raises(UsageError, match="has the feature deletionVectors"):
        pipeline.adopt("other")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"cursor": "updated"}, "did you mean 'updated_at'"),
        ({"primary_key": "idd"}, "no column 'idd'"),
        ({"cursor": "updated_at", "cursor_format": "%Y-%m-%d"}, "which is another"),
        ({"cursor": "id", "cursor_format": "%Y-%m-%d"}, "is a int, which has no format"),
    ],
)
def test_wrong_options_are_refused(
    lake: Path, pipeline: Pipeline, options: dict[str, Any], problem: str
) -> None:
    assert lake.exists()
    with pytest.raises(UsageError) as error:
        pipeline.adopt("orders", **options)
    assert problem in str(error.value)


def test_a_folder_without_a_table_is_refused(lake: Path, pipeline: Pipeline) -> None:
    assert lake.exists()
    with pytest.raises(UsageError, match="there is no Delta table in"):
        pipeline.adopt("nothing")


def test_a_table_of_the_pipeline_is_refused(lake: Path, pipeline: Pipeline) -> None:
    pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    write(lake, pa.table({"id": [1]}))

    with pytest.raises(UsageError, match="has the table orders already"):
        pipeline.adopt("orders", source="crm")
    with pytest.raises(UsageError, match=r"resource orders .* has a cursor already"):
        pipeline.adopt("other", cursor="id", resource="orders")


def test_an_adoption_that_another_run_has_made_is_not_recorded_again(lake: Path, pipeline: Pipeline) -> None:
    assert lake.exists()
    workspace = Workspace(pipeline._target(), spark=None)
    plan = plan_adoption(workspace, "orders", cursor="updated_at", primary_key="id")
    pipeline.adopt("orders", cursor="updated_at", primary_key="id")

    with pytest.raises(UsageError, match="has the table orders already"):
        save_adoption(plan, workspace, lease_times=LeaseTimes(beat=60.0, alive=120.0))
    assert not pipeline.has_pending_data


def test_nothing_is_adopted_while_packages_are_pending(lake: Path, pipeline: Pipeline) -> None:
    assert lake.exists()
    pipeline.extract([{"id": 1}], table_name="items")

    with pytest.raises(UsageError, match="are pending"):
        pipeline.adopt("orders")


def test_an_adoption_is_loaded_by_the_next_run_of_any_machine(
    lake: Path, pipeline: Pipeline, tmp_path: Path
) -> None:
    workspace = Workspace(pipeline._target(), spark=None)
    plan = plan_adoption(workspace, "orders", cursor="updated_at", primary_key="id")
    load_id = save_adoption(plan, workspace, lease_times=LeaseTimes(beat=60.0, alive=120.0))
    elsewhere = penstock.pipeline(
        "shop",
        destination=destinations.delta(bucket_url=str(tmp_path / "lake")),
        dataset_name="demo",
        pipelines_dir=str(tmp_path / "elsewhere"),
    )

    elsewhere.run()
    elsewhere.run(Orders(ROWS + NEW).resource)

    assert load_id in elsewhere.list_completed_load_packages()
    assert ids(lake) == [1, 2, 3, 4, 5, 6, 7]


def test_other_destinations_are_refused(tmp_path: Path) -> None:
    files = destinations.filesystem(bucket_url=str(tmp_path / "lake"))
    pipeline = penstock.pipeline("shop", destination=files, pipelines_dir=str(tmp_path / "pipelines"))

    with pytest.raises(UsageError, match="cannot be adopted"):
        pipeline.adopt("orders")


@pytest.mark.at_length
def test_of_a_table_with_a_million_rows_none_is_read_again(tmp_path: Path, pipeline: Pipeline) -> None:
    count, new_count = 1_000_000, 1_000
    ids, start = pa.array(range(count)), pa.scalar(NOON, pa.timestamp("us", "UTC"))
    seconds = pc.multiply(ids, 1_000_000).cast(pa.duration("us"))
    rows = pa.table({"id": ids, "updated_at": pc.add(start, seconds)})
    write_deltalake(str(tmp_path / "lake" / "demo" / "orders"), rows)

    adoption = pipeline.adopt("orders", cursor="updated_at", primary_key="id")
    requested: list[int] = []

    @penstock.resource(primary_key="id")
    def orders(last: int, updated_at: Any = penstock.sources.incremental("updated_at")) -> Iterator[Any]:
        for number in range(int((updated_at.start_value - NOON).total_seconds()), last):
            requested.append(number)
            yield {"id": number, "updated_at": NOON + timedelta(seconds=number)}

    pipeline.run(orders(count))
    assert (adoption.table.rows, requested) == (count, [count - 1])
    assert pipeline.dataset().row_counts() == {"orders": count}
    pipeline.run(orders(count + new_count))
    assert pipeline.dataset().row_counts() == {"orders": count + new_count}
