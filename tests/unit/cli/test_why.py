"""`penstock pipeline NAME why`: the load, the path and the rule of a column, without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cli.factories import extract_package, invoke, json_output
from tests.unit.cli.golden import assert_output

import penstock
from penstock.cli.demo import Demo
from penstock.errors import PipelineConfigMissing, UsageError
from penstock.interfaces.ledger import StorageSchemaInfo
from penstock.package import FileStorage
from penstock.package.file_ledger import FileLedger

if TYPE_CHECKING:
    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark")
SECRET = "lovelace-1843"
ROWS = [{"id": 1, "shippingAddress": {"zip code": SECRET}, "tags": [["a"]]}]


@pytest.fixture
def pipeline(disk: Path) -> Pipeline:
    del disk
    lake = penstock.destinations.delta(bucket_url=str(Path("lake").absolute()))
    return penstock.pipeline("shop", destination=lake)


def events(column: str) -> list[dict[str, Any]]:
    (document,) = json_output("shop", "why", column)
    column_events: list[dict[str, Any]] = document["events"]
    return column_events


def test_the_columns_of_the_demo_are_explained(disk: Path) -> None:
    del disk
    demo = Demo(folder=Path("demo"))
    demo.write_files()
    loads = list(demo.run_loads(demo.pipeline()))
    options = ("--pipelines-dir", str(demo.pipelines_dir))
    names = (
        "orders__items.quantity",
        "quantity__v_text",
        "coupon",
        "ordered_at",
        "address__city",
        "orders._dlt_id",
    )

    text = "\n".join(invoke("shop", "why", name, *options).stdout for name in names)

    for number, load in enumerate(loads, 1):
        (package,) = load.info.packages
        text = text.replace(package.load_id, f"LOAD {number}")
    text = "\n".join(_without_measurements(line) for line in text.splitlines())
    assert_output("pipeline_why", text)


def _without_measurements(line: str) -> str:
    begin, word, _ = line.partition("complete at ")
    if word:
        return f"{begin}{word}TIME"
    begin, word, _ = line.partition(" (") if "schema: " in line else (line, "", "")
    return begin


def test_a_path_is_recorded_and_no_value(pipeline: Pipeline) -> None:
    pipeline.run(ROWS, table_name="orders")

    (event,) = events("shipping_address__zip_code")

    assert (event["path"], event["value_type"]) == ("$.shippingAddress['zip code']", "text")
    assert event["name"] == {
        "keys": ["shippingAddress", "zip code"],
        "convention": "snake_case",
        "normalized": "shipping_address__zip_code",
        "is_tagged": False,
    }
    slot = next(Path("lake").rglob("slots/0000000001.json")).read_text(encoding="utf-8")
    assert "zip code" in slot
    assert SECRET not in slot


def test_the_tag_of_a_key_whose_name_is_taken_is_explained(pipeline: Pipeline) -> None:
    pipeline.run([{"itemId": 1, "item_id": 2}], table_name="orders")
    (tagged,) = (
        name for name in pipeline.default_schema.tables["orders"].columns if name.startswith("item_id_")
    )

    (event,) = events(tagged)

    assert (event["path"], event["name"]["is_tagged"]) == ("$.item_id", True)
    assert "with a tag" in invoke("shop", "why", tagged).stdout


def test_the_load_that_added_a_column_is_found_among_many(pipeline: Pipeline) -> None:
    load_ids = []
    for number in range(6):
        row = {"id": number, **({"late": "x"} if number >= 3 else {})}
        load_ids += pipeline.run([row], table_name="orders").loads_ids

    (event,) = events("late")

    assert (event["load_id"], event["schema_version"], event["contract"]) == (load_ids[3], 2, "columns")


def test_declared_columns_are_hints(pipeline: Pipeline) -> None:
    columns = {"amount": {"data_type": "decimal"}}
    pipeline.run(penstock.resource(ROWS, name="orders", columns=columns))

    (event,) = events("amount")

    assert (event["rule"], event["path"], event["contract"]) == ("hint", None, None)


def test_a_removed_column_has_an_end(pipeline: Pipeline) -> None:
    pipeline.run(ROWS, table_name="orders")
    schema = pipeline.default_schema
    schema.drop_tables(["orders"])
    version = StorageSchemaInfo(
        version_hash=schema.version_hash,
        schema_name="shop",
        version=schema.version,
        engine_version=11,
        inserted_at=datetime.now(UTC),
        schema=json.dumps(schema.to_dict()),
    )
    FileLedger(FileStorage(str(Path("lake/shop").absolute()))).store_schema(version)

    (document,) = json_output("shop", "why", "orders.shipping_address__zip_code")

    assert [event["event"] for event in document["events"]] == ["added", "removed"]
    assert document["data_type"] is None
    assert document["events"][1]["unknown"] == "no complete load has this schema version"


def test_a_pending_package_explains_its_columns(pipeline: Pipeline) -> None:
    pipeline.run(ROWS, table_name="orders")
    pipeline.extract([{"id": 2, "coupon": "A"}], table_name="orders")
    (load_id,) = pipeline.list_extracted_load_packages()
    pipeline.normalize()

    (event,) = events("coupon")

    assert (event["load_id"], event["is_pending"], event["path"]) == (load_id, True, "$.coupon")
    assert f"by the pending load {load_id}" in invoke("shop", "why", "coupon").stdout


def test_a_load_of_another_tool_is_reported_as_unknown(pipeline: Pipeline) -> None:
    pipeline.run(ROWS, table_name="orders")
    (row,) = Path("lake").rglob("_dlt_loads/*.jsonl")
    document = json.loads(row.read_text(encoding="utf-8"))
    row.write_text(json.dumps(document | {"sequence": None}), encoding="utf-8")

    (event,) = events("orders.id")

    assert (event["load_id"], event["rule"]) == (document["load_id"], None)
    assert "not made by penstock" in event["unknown"]


@pytest.mark.parametrize(
    ("column", "message", "hint"),
    [
        ("orders.idd", "no schema has a column 'orders.idd'", "did you mean 'orders.id'?"),
        ("shiping_address__zip_code", "no schema has", "did you mean 'shipping_address__zip_code'?"),
        ("_dlt_id", "3 tables have a column '_dlt_id'", "name one of: orders._dlt_id, "),
    ],
)
def test_a_wrong_name_is_an_error_with_the_right_one(
    pipeline: Pipeline, column: str, message: str, hint: str
) -> None:
    pipeline.run(ROWS, table_name="orders")

    error = invoke("shop", "why", column).exception

    assert isinstance(error, UsageError)
    assert message in error.message
    assert hint in (error.hint or "")


def test_a_column_that_the_contract_refused_is_explained(pipeline: Pipeline, disk: Path) -> None:
    pipeline.run(ROWS, table_name="orders")
    trace = next((disk / "shop" / "traces").glob("*.json"))
    document = json.loads(trace.read_text(encoding="utf-8"))
    (facts,) = (step["info"] for step in document["steps"] if step["step"] == "normalize")
    facts["rejects"] = [
        {
            "load_id": "17.5",
            "table": "orders",
            "column": "coupon",
            "mode": "discard_value",
            "count": 3,
            "reason": "there is no column coupon",
        }
    ]
    trace.write_text(json.dumps(document), encoding="utf-8")

    error = invoke("shop", "why", "orders.coupon").exception

    assert isinstance(error, UsageError)
    assert error.hint == (
        "the contract (discard_value) left out 3 of its values in load 17.5: there is no column coupon"
    )


def test_a_pipeline_without_loads_has_no_columns(pipeline: Pipeline, disk: Path) -> None:
    del disk
    extract_package("other")

    assert isinstance(invoke("other", "why", "id").exception, PipelineConfigMissing)
    pipeline.extract(ROWS, table_name="orders")
    error = invoke("shop", "why", "id").exception
    assert isinstance(error, UsageError)
    assert "no load with a schema" in error.message
