"""Checks of rows through Spark: the results, the quarantine and the ids equal those of the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.flow.test_spark_job_count import jobs_so_far

import penstock
from penstock import destinations
from penstock.errors import ChecksFailed, PipelineStepFailed, UsageError
from penstock.normalize.row_conditions import UnsupportedCondition, compile_condition

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.pipeline.pipeline import Pipeline

ORDERS: list[dict[str, Any]] = [
    {"Id": 1, "total": {"amount": 5}, "status": "new", "items": [{"sku": "A7"}, {"sku": "B2"}]},
    {"Id": 2, "total": {"amount": -5}, "status": "new", "items": [{"sku": "A7"}]},
    {"Id": 3, "total": {"amount": "many"}, "status": "lost", "items": [{"sku": "C1"}]},
    {"Id": 4, "total": {"amount": 8.5}, "status": None, "items": []},
]
TABLES = ("orders", "orders__items", "_dlt_quarantine", "_dlt_checks")


def pipeline_in(folder: Path, spark: SparkSession) -> Pipeline:
    lake = destinations.delta(bucket_url=str(folder / "lake"))
    return penstock.pipeline(
        "shop", destination=lake, dataset_name="demo", pipelines_dir=str(folder / "pipelines"), spark=spark
    )


def checked(data: Any, **hints: Any) -> Any:
    return (
        penstock.resource(data, name="orders", **hints)
        .expect("valid amount", "total__amount >= 0", on_fail="quarantine")
        .expect("known status", "status IN ('new', 'paid')")
        .expect("known sku", "length(sku) = 2 AND sku LIKE 'A%'", table="orders__items")
    )


def loaded(pipeline: Pipeline) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables without what differs between two loads."""
    volatile = ("_dlt_load_id", "_dlt_id", "_dlt_parent_id")
    return {
        name: sorted(
            (
                {key: value for key, value in row.items() if key not in volatile}
                for row in pipeline.dataset()[name].arrow().to_pylist()
            ),
            key=str,
        )
        for name in TABLES
    }


def test_spark_and_the_driver_check_and_quarantine_alike(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_driver = pipeline_in(tmp_path / "driver", spark)
    by_driver.run(checked(ORDERS))
    monkeypatch.setenv("NORMALIZE__DRIVER_ROWS", "0")
    by_spark = pipeline_in(tmp_path / "spark", spark)

    info = by_spark.run(checked(ORDERS))

    assert loaded(by_spark) == loaded(by_driver)
    assert [row["id"] for row in loaded(by_spark)["orders"]] == [1]
    assert [(row["rule"], row["item"]) for row in loaded(by_spark)["_dlt_quarantine"]] == [
        ("expectation:valid amount", 1),
        ("expectation:valid amount", 2),
        ("expectation:valid amount", 3),  # a fraction, which has a variant column
    ]
    assert "3 rows of orders left out: they fail check 'valid amount'" in str(info)
    assert "check 'known sku' of orders__items failed" in str(info)
    assert 'in 1 of 2 rows, such as {"sku":"B2"}' in str(info)


@pytest.mark.parametrize("hints", [{"write_disposition": "merge", "primary_key": "Id"}, {}])
def test_rows_of_frames_and_of_merged_tables_are_quarantined(
    tmp_path: Path, spark: SparkSession, hints: dict[str, Any]
) -> None:
    frame = spark.createDataFrame([(1, 5), (2, -5), (3, None)], "id INT, amount INT")
    data = ORDERS[:2] if hints else frame
    column = "total__amount" if hints else "amount"
    pipeline = pipeline_in(tmp_path, spark)
    resource = penstock.resource(data, name="orders", **hints)

    pipeline.run(resource.expect("valid amount", f"{column} >= 0", on_fail="quarantine"))

    assert [row["id"] for row in pipeline.dataset()["orders"].arrow().to_pylist()] == [1]
    quarantined = pipeline.dataset()["_dlt_quarantine"].arrow().to_pylist()
    assert {row["rule"] for row in quarantined} == {"expectation:valid amount"}
    assert len(quarantined) == (1 if hints else 2)


def test_all_checks_of_a_package_are_one_spark_job(tmp_path: Path, spark: SparkSession) -> None:
    if not hasattr(spark, "_jsc"):
        pytest.skip("jobs are counted in classic sessions")
    frame = spark.range(10_000).selectExpr("id", "id % 7 AS amount", "array(id, id + 1) AS parts")
    pipeline = pipeline_in(tmp_path, spark)
    pipeline.run(penstock.resource(frame, name="orders"))

    before = jobs_so_far(spark)
    pipeline.run(penstock.resource(frame, name="orders"))
    plain = jobs_so_far(spark) - before
    resource = penstock.resource(frame, name="orders").expect("a", "amount BETWEEN 0 AND 6", on_fail="stop")
    resource.expect("b", "id IS NOT NULL").expect("c", "value >= 0", table="orders__parts")
    before = jobs_so_far(spark)
    pipeline.run(resource)

    assert jobs_so_far(spark) - before <= plain + 3  # the checks, and the commit of their results
    results = pipeline.last_trace.last_normalize_info.checks  # type: ignore[union-attr]
    assert [(result.passed, result.total_rows) for result in results] == [(True, 10_000)] * 2 + [
        (True, 20_000)
    ]


def test_a_stop_through_spark_publishes_nothing_and_shows_an_example(
    tmp_path: Path, spark: SparkSession
) -> None:
    frame = spark.range(10_000).selectExpr("id", "id % 7 - 1 AS amount")
    pipeline = pipeline_in(tmp_path, spark)

    with pytest.raises(
        PipelineStepFailed, match=r"in 1,429 of 10,000 rows, such as \{\"amount\":-1\}"
    ) as failure:
        pipeline.run(penstock.resource(frame, name="orders").expect("valid", "amount >= 0", on_fail="stop"))

    assert isinstance(failure.value.exception, ChecksFailed)
    assert pipeline.first_run
    assert not pipeline.has_pending_data
    with pytest.raises(
        PipelineStepFailed, match="Spark does not accept the condition of check 'x'"
    ) as refusal:
        pipeline.run(penstock.resource(frame, name="orders").expect("x", "no_such_function(amount) > 0"))
    assert isinstance(refusal.value.exception, UsageError)


# --- conditions in plain Python and in Spark

COLUMNS = {
    "a": "BIGINT",
    "b": "BIGINT",
    "x": "DOUBLE",
    "s": "STRING",
    "t": "STRING",
    "f": "BOOLEAN",
    "d": "DECIMAL(38,9)",
}
NUMBERS = st.sampled_from(
    ["a", "b", "x", "d", "0", "1", "-2", "0.5", "abs(a)", "a + 1", "b * 2", "x - 0.5", "a - b", "length(s)"]
)
TEXTS = st.sampled_from(["s", "t", "'ab'", "''", "upper(s)", "lower(t)", "trim(t)", "coalesce(s, 'z')", "s"])
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>", "!=", "=="])
ATOMS = st.one_of(
    st.builds("{} {} {}".format, NUMBERS, OPERATORS, NUMBERS),
    st.builds("{} {} {}".format, TEXTS, OPERATORS, TEXTS),
    st.builds(
        "{} IS {}".format, st.one_of(NUMBERS, TEXTS, st.just("f")), st.sampled_from(["NULL", "NOT NULL"])
    ),
    st.builds(
        "{} {}IN ({}, {})".format,
        NUMBERS,
        st.sampled_from(["", "NOT "]),
        st.just("1"),
        st.sampled_from(["2", "NULL"]),
    ),
    st.builds("{} {}BETWEEN {} AND {}".format, NUMBERS, st.sampled_from(["", "NOT "]), NUMBERS, NUMBERS),
    st.builds(
        "{} {}LIKE '{}'".format,
        TEXTS,
        st.sampled_from(["", "NOT "]),
        st.sampled_from(["a%", "_b", "%", "", "a.b", "A_%"]),
    ),
    st.sampled_from(["f", "TRUE", "FALSE", "NULL", "f IS TRUE", "f IS NOT FALSE", "f = (a > 0)"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("{} AND {}".format, inner, inner),
        st.builds("{} OR {}".format, inner, inner),
        st.builds("NOT {}".format, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=5,
)
INTEGERS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": INTEGERS,
            "b": INTEGERS,
            "x": st.one_of(
                st.none(), st.floats(allow_infinity=True), st.sampled_from([0.0, -0.0, 0.5, 2.0**53])
            ),
            "s": st.one_of(st.none(), st.text(alphabet="abAB .%_\n\U0001f600é", max_size=3)),
            "t": st.one_of(st.none(), st.text(alphabet="abAB .%_\n", max_size=3)),
            "f": st.one_of(st.none(), st.booleans()),
            "d": st.one_of(st.none(), st.decimals(-5, 5, places=3), st.decimals(-5, 5, places=9)),
        }
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.at_length
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(conditions=st.lists(CONDITIONS, min_size=25, max_size=25), rows=ROWS)
def test_conditions_have_the_same_result_in_plain_python_and_in_spark(
    spark: SparkSession, conditions: list[str], rows: list[dict[str, Any]]
) -> None:
    results: dict[str, list[bool | None]] = {}
    for condition in conditions:
        try:
            evaluate = compile_condition(condition, COLUMNS)
            results[condition] = [evaluate(row) for row in rows]
        except UnsupportedCondition:
            continue
    ddl = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    frame = spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], ddl).coalesce(1)

    in_spark = frame.selectExpr(*(f"({condition}) AS c{n}" for n, condition in enumerate(results))).collect()

    by_condition = zip(*in_spark, strict=True)
    assert results == {
        condition: list(values) for condition, values in zip(results, by_condition, strict=True)
    }
