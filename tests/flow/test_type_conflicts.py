"""The schema of a large table comes from its first rows; later rows of other types are not lost."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.flow.factories import make_pipeline
from tests.step_failures import step_raises

import penstock
from penstock.errors import DataValidationError
from penstock.normalize.rows import MAX_SAMPLE_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

MANY = MAX_SAMPLE_ROWS + 1_000
LATE = MAX_SAMPLE_ROWS + 500


def items() -> Iterator[dict[str, Any]]:
    for number in range(MANY):
        yield {"id": number, "at": "2024-05-06T07:08:09Z", "name": f":n{number}", "tags": [f"[{number}"]}


def surprising() -> Iterator[dict[str, Any]]:
    """Rows with one value of an unexpected type each."""
    yield from items()
    plain = {"id": -1, "at": "2024-05-06T07:08:09Z", "name": "x", "tags": ["t"]}
    yield plain | {"id": "late text"}
    yield plain | {"id": 2.5}
    yield plain | {"at": "no moment"}
    yield plain | {"name": 5}
    yield plain | {"name": ["a list"]}
    yield plain | {"new": {"deep": 1}}
    yield plain | {"tags": ["t", {"k": "v"}]}
    yield plain | {"tags": [["inner"]]}
    yield plain | {"new": None, "more": []}


@pytest.mark.every_mode
def test_values_of_unexpected_types_in_late_rows_are_found_and_loaded(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(surprising, table_name="items")

    dataset = pipeline.dataset()
    counts = dataset.row_counts()
    assert counts == {
        "items": MANY + 9,
        "items__tags": MANY + 10,
        "items__name": 1,
        "items__tags__list": 1,
    }
    assert pipeline.last_trace is not None
    output = pipeline.last_trace.last_normalize_info
    assert output is not None
    assert output.row_counts == counts
    assert "new table items__name: value text" in str(output)
    late = dataset["items"].spark().where("id IS NULL OR id = -1").collect()
    result = Counter(
        (name, str(row[name]))
        for row in late
        for name in ("id__v_text", "id__v_double", "at__v_text", "new__deep")
        if row[name] is not None
    )
    assert result == Counter(
        [
            ("id__v_text", "late text"),
            ("id__v_double", "2.5"),
            ("at__v_text", "no moment"),
            ("new__deep", "1"),
        ]
    )
    assert "5" in [row["name"] for row in late], "a number goes into a column of texts"
    tags = dataset["items__tags"].spark()
    assert [row["k"] for row in tags.where("k IS NOT NULL").collect()] == ["v"]
    assert [row["value"] for row in dataset["items__tags__list"].spark().collect()] == ["inner"]


@pytest.mark.at_length
def test_texts_that_look_like_json_punctuation_are_plain_texts(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    odd = ['":', '":null', "[x", "{", "\\", '\\"', "a\\", '"', ':"', "日本\n", "", '","']

    pipeline.run(
        (
            {"id": number, "t": odd[number % len(odd)], "l": odd, "o": {odd[number % 2]: number}}
            for number in range(MANY)
        ),
        table_name="items",
    )

    dataset = pipeline.dataset()
    texts = Counter(row["t"] for row in dataset["items"].spark().select("t").collect())
    assert set(texts) == set(odd)
    assert dataset.row_counts() == {"items": MANY, "items__l": MANY * len(odd)}


def test_refused_rows_are_quarantined_and_counted(spark: SparkSession, location: str, tmp_path: Path) -> None:
    @penstock.resource(schema_contract={"columns": "discard_row", "data_type": "discard_value"})
    def things(rows: Any) -> Any:
        yield from rows

    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(things([{"id": 1}]))

    pipeline.run(things([{"id": 2}, {"id": 3, "new": "x"}, {"id": "no number"}]))

    dataset = pipeline.dataset()
    assert sorted(map(str, (row["id"] for row in dataset["things"].spark().collect()))) == ["1", "2", "None"]
    assert pipeline.last_trace is not None
    output = str(pipeline.last_trace)
    assert "1 row of things left out: there is no column new, such as 'x'" in output
    assert "1 value of things left out: text does not fit id, such as 'no number'" in output
    (quarantined,) = dataset["_dlt_quarantine"].spark().collect()
    assert (quarantined["table_name"], quarantined["path"], quarantined["rule"]) == (
        "things",
        '["new"]',
        "columns: discard_row",
    )
    assert (quarantined["raw"], quarantined["reason"]) == ('{"id":3,"new":"x"}', "there is no column new")


def test_a_frozen_contract_stops_the_run_and_names_the_value(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(schema_contract={"columns": "freeze"})
    def things(rows: Any) -> Any:
        yield from rows

    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(things([{"id": 1}]))

    with step_raises(DataValidationError, step="normalize") as caught:
        pipeline.run(things([{"id": 2, "new": "x"}]))

    facts = vars(caught.value)
    assert (facts["table_name"], facts["column_name"]) == ("things", "new")


def test_declared_columns_keep_their_types(spark: SparkSession, location: str, tmp_path: Path) -> None:
    @penstock.resource(
        columns={"id": {"data_type": "text"}, "meta": {"data_type": "json"}}, max_table_nesting=0
    )
    def things() -> Any:
        yield {"id": 7, "meta": {"b": 1, "a": [1.5]}, "deep": {"x": 1}, "list": [1]}

    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(things)

    row = pipeline.dataset()["things"].spark().collect()[0]
    assert (row["id"], row["meta"], row["deep"], row["list"]) == ("7", '{"b":1,"a":[1.5]}', '{"x":1}', "[1]")


def test_refused_nested_rows_are_quarantined_with_their_own_json(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    contract = {"tables": "discard_row", "columns": "discard_row"}
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 1, "items": [{"sku": "a"}]}], table_name="things")

    pipeline.run(
        [
            {"id": 2, "items": [{"sku": "b"}, {"sku": "c", "new": 1.5}]},
            {"id": 3, "more": [{"x": 1}, {"x": 2}]},
        ],
        table_name="things",
        schema_contract=contract,
    )

    dataset = pipeline.dataset()
    assert {row["sku"] for row in dataset["things__items"].spark().collect()} == {"a", "b"}
    assert {row["id"] for row in dataset["things"].spark().collect()} == {1, 2, 3}
    quarantined = {row["table_name"]: row for row in dataset["_dlt_quarantine"].spark().collect()}
    nested, table = quarantined["things__items"], quarantined["things__more"]
    assert (nested["raw"], nested["item"]) == ('{"sku":"c","new":1.5}', 1)
    assert (nested["path"], nested["rule"]) == ('["items",0,"new"]', "columns: discard_row")
    assert (table["raw"], table["rule"]) == ('[{"x":1},{"x":2}]', "tables: discard_row")


@pytest.mark.at_length
def test_refused_rows_of_frames_are_quarantined_too(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(pa.table({"id": [1]}), table_name="things")

    pipeline.run(
        pa.table({"id": [2, 3], "new": [None, "x"]}),
        table_name="things",
        schema_contract={"columns": "discard_row"},
    )

    dataset = pipeline.dataset()
    assert {row["id"] for row in dataset["things"].spark().collect()} == {1, 2}
    (quarantined,) = dataset["_dlt_quarantine"].spark().collect()
    assert (quarantined["raw"], quarantined["reason"]) == ('{"id":3,"new":"x"}', "there is no column new")
    assert pipeline.last_trace is not None
    assert "1 row of things left out: there is no column new" in str(pipeline.last_trace)


def test_the_contract_of_a_run_overrides_that_of_a_resource(
    spark: SparkSession, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMALIZE__QUARANTINE", "false")

    @penstock.resource(schema_contract="evolve", nested_hints={"items": {"schema_contract": "evolve"}})
    def things(rows: Any) -> Any:
        yield from rows

    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run(things([{"id": 1, "items": [{"sku": "a"}]}]))

    late = things([{"id": 2, "items": [{"sku": "b", "new": 1}]}, {"id": 3, "new": 1}])
    pipeline.run(late, schema_contract={"columns": "discard_row"})

    dataset = pipeline.dataset()
    assert dataset.row_counts() == {"things": 2, "things__items": 1}, "and nothing is kept aside"


@pytest.mark.at_length
def test_late_refusals_in_a_large_table_are_counted_and_quarantined(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    pipeline.run([{"id": 1, "l": [{"x": 1}]}], table_name="things")
    late = range(LATE, MANY)

    pipeline.run(
        (
            {"id": number, "l": [{"x": 1}]} | ({"new": number} if number in late else {})
            for number in range(MANY)
        ),
        table_name="things",
        schema_contract={"columns": "discard_row"},
    )

    remaining = {"things": 1 + LATE, "things__l": 1 + LATE, "_dlt_quarantine": len(late)}
    assert pipeline.dataset().row_counts() == remaining
    assert pipeline.last_trace is not None
    output = pipeline.last_trace.last_normalize_info
    assert output is not None
    assert [(reject.column, reject.count) for reject in output.rejects] == [("new", len(late))]


@pytest.mark.at_length
def test_all_rows_of_a_refused_table_are_quarantined(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    pipeline = make_pipeline(location, tmp_path, spark)
    rows: list[Any] = [{"id": 1, "l": [1]}, {"id": 2}]

    pipeline.run(rows, table_name="refused", schema_contract={"tables": "discard_row"})
    pipeline.run(pa.Table.from_pylist(rows), table_name="typed", schema_contract={"tables": "discard_row"})

    dataset = pipeline.dataset()
    assert dataset.row_counts() == {"_dlt_quarantine": 4}
    raw = [row["raw"] for row in dataset["_dlt_quarantine"].spark().where("table_name = 'refused'").collect()]
    assert sorted(raw) == ['{"id":1,"l":[1]}', '{"id":2}']
    assert pipeline.last_trace is not None
    assert "2 rows of typed left out: there is no such table" in str(pipeline.last_trace)


@pytest.mark.at_length
def test_values_wider_than_declared_are_quarantined(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(
        columns={
            "n": {"data_type": "bigint", "precision": 16},
            "d": {"data_type": "decimal", "precision": 5, "scale": 2},
        }
    )
    def things() -> Any:
        yield [{"n": 7, "d": Decimal("1.25")}, {"n": 70_000}, {"d": Decimal("1.234")}, {"d": 12345}]

    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(things)

    dataset = pipeline.dataset()
    rows = [(row["n"], row["d"]) for row in dataset["things"].spark().collect()]
    assert rows == [(7, Decimal("1.25"))]
    assert dataset.row_counts()["_dlt_quarantine"] == 3
