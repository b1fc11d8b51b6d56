"""Nested rows from extract to the dataset, the same in every mode of Spark."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.factories import make_pipeline
from tests.step_failures import step_raises

import penstock
from penstock.errors import ResourceFailed, UnknownDestination, UsageError
from penstock.testing import nested_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = 500


def columns(frame: Any) -> dict[str, str]:
    return dict(frame.dtypes)


@pytest.mark.handful
@pytest.mark.every_mode
def test_nested_rows_become_tables_that_can_be_read_back(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run(nested_rows(ROWS), table_name="items")

    loaded = {table.table: table.rows for table in info.packages[0].tables}
    assert loaded == {"items": ROWS, "items__tags": 2 * ROWS, "items__parts": ROWS}
    assert pipeline.dataset().row_counts() == loaded
    items = pipeline.dataset()["items"].spark()
    assert columns(items) == {
        "id": "bigint",
        "name": "string",
        "price": "double",
        "seller__city": "string",
        "seller__rating": "bigint",
        "_dlt_load_id": "string",
        "_dlt_id": "string",
    }
    values = sorted(items.select("id", "name", "price", "seller__city", "seller__rating").collect())
    expected = [
        (row["id"], row["name"], row["price"], row["seller"]["city"], row["seller"]["rating"])
        for row in nested_rows(ROWS)
    ]
    assert [tuple(row) for row in values] == expected


@pytest.mark.at_length
def test_children_point_to_their_parents_and_keep_their_order(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(nested_rows(ROWS), table_name="items")

    dataset = pipeline.dataset()
    parents = {
        row["_dlt_id"]: row["id"] for row in dataset["items"].spark().select("_dlt_id", "id").collect()
    }
    assert len(parents) == ROWS
    result = {
        (parents[row["_dlt_parent_id"]], row["_dlt_list_idx"]): row["value"]
        for row in dataset["items__tags"].spark().collect()
    }
    expected = {(row["id"], index): tag for row in nested_rows(ROWS) for index, tag in enumerate(row["tags"])}
    assert result == expected


@pytest.mark.every_mode
def test_a_second_run_appends_and_the_ledger_has_both(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    make_pipeline(location, tmp_path, spark).run([{"id": 1}], table_name="items")

    make_pipeline(location, tmp_path / "another machine", spark).run(
        [{"id": 2, "extra": "x"}], table_name="items"
    )

    dataset = make_pipeline(location, tmp_path, spark).dataset()
    rows = dataset["items"].spark().select("id", "extra").collect()
    assert sorted((row["id"], row["extra"]) for row in rows) == [(1, None), (2, "x")]
    loads = dataset["_dlt_loads"].spark().orderBy("sequence").collect()
    assert [(row["sequence"], row["status"], row["pipeline_name"]) for row in loads] == [
        (1, 0, "quick"),
        (2, 0, "quick"),
    ]
    assert [row["version"] for row in dataset["_dlt_version"].spark().orderBy("version").collect()] == [1, 2]
    assert dataset["_dlt_pipeline_state"].count() == 1, "an unchanged state is not stored again"


@pytest.mark.every_mode
def test_the_users_session_is_unchanged(compiled: SparkSession, location: str, tmp_path: Path) -> None:
    compiled.range(3).createOrReplaceTempView("mine")
    compiled.conf.set("spark.databricks.delta.write.txnAppId", "the user's own")
    before = (
        dict(compiled.conf.getAll),
        {table.name for table in compiled.catalog.listTables()},
        compiled.catalog.currentCatalog(),
        compiled.catalog.currentDatabase(),
    )

    pipeline = make_pipeline(location, tmp_path, compiled)
    pipeline.run(nested_rows(10), table_name="items")
    pipeline.dataset()["items"].df()

    after = (
        dict(compiled.conf.getAll),
        {table.name for table in compiled.catalog.listTables()},
        compiled.catalog.currentCatalog(),
        compiled.catalog.currentDatabase(),
    )
    compiled.conf.unset("spark.databricks.delta.write.txnAppId")
    assert after == before


@pytest.mark.at_length
def test_every_read_method_returns_the_same_rows(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run([1, 2, 3], table_name="numbers")

    numbers = pipeline.dataset()["numbers"]
    assert sorted(row[0] for row in numbers.fetchall()) == [1, 2, 3]
    assert sorted(numbers.df()["value"]) == [1, 2, 3]
    assert sorted(numbers.arrow()["value"].to_pylist()) == [1, 2, 3]
    assert numbers.spark().sparkSession is spark, "to be joined with the user's own frames"


def test_python_types_are_preserved(spark: SparkSession, location: str, tmp_path: Path) -> None:
    row = {
        "moment": datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC),
        "iso": "2024-05-06T07:08:09Z",
        "day": date(2024, 5, 6),
        "amount": Decimal("12.345678901"),
        "raw": b"\x00\xff",
        "flag": True,
        "huge": 2**70,
        "nan": float("nan"),
        "text": "2024-05-06",
    }
    plain = {"nan": 1.5, "moment": datetime(2020, 1, 1, tzinfo=UTC)}
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run([row, plain], table_name="typed")

    frame = pipeline.dataset()["typed"].spark()
    types = columns(frame)
    assert {name: types[name] for name in row} == {
        "moment": "timestamp",
        "iso": "timestamp",
        "day": "date",
        "amount": "decimal(38,9)",
        "raw": "binary",
        "flag": "boolean",
        "huge": "decimal(38,0)",
        "nan": "double",
        "text": "string",
    }
    result = next(
        r
        for r in frame.selectExpr(
            "*", "unix_micros(moment) AS micros", "date_format(day, 'yyyy-MM-dd') AS shown"
        ).collect()
        if r["flag"]
    )
    assert result["micros"] == 1714979289123456
    assert (result["shown"], result["amount"], bytes(result["raw"]), result["huge"]) == (
        "2024-05-06",
        Decimal("12.345678901"),
        b"\x00\xff",
        Decimal(2**70),
    )
    assert result["nan"] != result["nan"]


@pytest.mark.at_length
def test_values_of_several_types_are_all_kept(compiled: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, compiled)

    pipeline.run([{"x": 1}, {"x": 2.0}], table_name="whole")
    pipeline.run([{"a": 1}, {"a": "s"}, {"a": {"b": [1]}}], table_name="mixed")
    pipeline.run([{"x": "late text"}], table_name="whole")

    dataset = pipeline.dataset()
    mixed = dataset["mixed"].spark().select("a", "a__v_text").collect()
    assert Counter(map(tuple, mixed)) == Counter([(1, None), (None, "s"), (None, None)])
    assert [row["value"] for row in dataset["mixed__a__b"].spark().collect()] == [1]
    complete = dataset["whole"].spark()
    assert columns(complete)["x"] == "bigint"
    assert Counter((row["x"], row["x__v_text"]) for row in complete.collect()) == Counter(
        [(1, None), (2, None), (None, "late text")]
    )


@pytest.mark.at_length
def test_lists_of_lists_nulls_and_odd_keys_are_loaded(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    rows = [
        {"id": 1, "grid": [[1, 2], [3]], "tags": ["x", None], "nothing": None, "empty": {}, "none": []},
        {"id": 2, "we`ird. key": 5, "UserID": 7, "user_id": 8, "_dlt_id": "mine", "": "blank"},
    ]
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(rows, table_name="Odd Table")

    dataset = pipeline.dataset()
    assert dataset.row_counts() == {"odd_table": 2, "odd_table__grid": 2, "odd_table__grid__list": 3,
                                    "odd_table__tags": 2}  # fmt: skip
    second = next(row for row in dataset["odd_table"].spark().collect() if row["id"] == 2).asDict()
    assert second["we_ird_key"] == 5
    assert second["_empty"] == "blank"
    remaining = {name: value for name, value in second.items() if name.startswith("user_id")}
    assert sorted(remaining.values()) == [7, 8], "two keys that meet in one name are both kept"
    assert second["_dlt_id"] == "mine", "an id that comes with the data is the row's id, as in dlt"


@pytest.mark.at_length
def test_rows_without_values_are_loaded(spark: SparkSession, location: str, tmp_path: Path) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run([{}, {"a": None}], table_name="bare")

    assert pipeline.dataset().row_counts() == {"bare": 2}


def test_a_run_without_data_creates_no_package(spark: SparkSession, location: str, tmp_path: Path) -> None:
    info = make_pipeline(location, tmp_path, spark).run([], table_name="items")

    assert info.loads_ids == []
    assert "nothing to load" in str(info)


def test_a_failing_generator_loads_nothing_and_the_error_names_its_resource(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    def broken() -> Any:
        yield {"id": 1}
        raise ZeroDivisionError("my mistake")

    pipeline = make_pipeline(location, tmp_path, spark)

    with step_raises(ResourceFailed, step="extract") as caught:
        pipeline.run(broken)

    facts = vars(caught.value)
    assert (facts["resource"], facts["item"], facts["stage"]) == ("broken", 2, "extract")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert pipeline.run([{"id": 2}], table_name="items").packages[0].sequence == 1
    assert pipeline.dataset().tables[0] == "items"


def test_a_row_that_cannot_be_encoded_is_quarantined_and_the_others_are_loaded(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    info = pipeline.run([{"id": 1}, {"id": 2, "odd": 1j}], table_name="_items")

    assert pipeline.dataset().row_counts() == {"_dlt_quarantine": 1, "_items": 1}
    assert pipeline.dataset()["_dlt_quarantine"].df()["reason"][0] == "complex has no JSON form"
    assert "of _items 1 could not be written" in str(info)


def test_the_error_for_an_unknown_destination_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownDestination, match="snowflake") as caught:
        penstock.pipeline("quick", pipelines_dir=tmp_path, destination="snowflake")

    assert "delta" in str(caught.value)


def test_an_unsupported_strategy_is_refused_before_anything_runs(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    options = {"disposition": "merge", "strategy": "cdc"}
    with pytest.raises(UsageError, match="does not support 'cdc'"):
        make_pipeline(location, tmp_path, spark).run([{"id": 1}], table_name="t", write_disposition=options)
