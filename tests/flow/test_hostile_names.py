"""Names, values and keys that look like SQL, Spark variables, JSON paths or globs are loaded unchanged."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.conftest import SEED
from tests.corpus.hostile_texts import CANARY, TABLES, Hostile
from tests.flow.factories import make_pipeline

import penstock
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

OWN = ("_dlt_id", "_dlt_load_id", "_dlt_parent_id", "_dlt_list_idx", "_dlt_root_id")
DISPOSITIONS: dict[str, Any] = {
    "appended": "append",
    "replaced": "replace",
    "deleted_inserted": {"disposition": "merge", "strategy": "delete-insert"},
    "upserted": {"disposition": "merge", "strategy": "upsert"},
    "inserted": {"disposition": "merge", "strategy": "insert-only"},
    "versioned": {"disposition": "merge", "strategy": "scd2"},
}


@pytest.fixture
def hostile(request: pytest.FixtureRequest) -> Hostile:
    seed = SEED + len(request.node.name)
    return Hostile(seed)


def rows_of(pipeline: penstock.Pipeline, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, without system columns and nulls."""
    result = pipeline.dataset()[table].spark().collect()
    return [
        {name: value for name, value in row.asDict().items() if value is not None and name not in OWN}
        for row in result
    ]


def named(pipeline: penstock.Pipeline, naming: str) -> Schema | None:
    """The schema of a pipeline that begins with this naming convention; one that has begun keeps its own."""
    if pipeline.schemas:
        return None
    schema = Schema(pipeline.pipeline_name)
    schema.update(schema.stored.with_normalizers(names=naming))
    return schema


def canary(spark: SparkSession) -> str:
    """Return the JVM property that a drawn text sets if it is executed as SQL."""
    asked = F.call_function("java_method", F.lit("java.lang.System"), F.lit("getProperty"), F.lit(CANARY))
    result: str = spark.range(1).select(asked).collect()[0][0]
    return result


def leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif not isinstance(value, list):
        yield value


def columns_arrive(hostile: Hostile, pipeline: penstock.Pipeline, naming: str, keys: int) -> None:
    """Check that keys of rows become columns: one column for each key, with its values."""
    names, below = hostile.texts(keys), hostile.texts(keys)
    rows: list[dict[str, Any]] = []
    for number in range(4):
        row: dict[str, Any] = {"n": number}
        for index, (name, inner) in enumerate(zip(names, below, strict=True)):
            text = f"{hostile.text()}#{index}-{number}"
            # Some keys have a value of another type in each row, some have an object.
            if index % 5 == 0:
                row[name] = (10_000 + index, text, {inner: text}, {inner: {name: text}})[number]
            elif index % 5 == 1:
                row[name] = {inner: text}
            else:
                row[name] = text
        rows.append(row)
    rows[0][names[-1]] = [f"{hostile.text()}#list-{index}" for index in range(5)]

    pipeline.run(rows, table_name="wide", schema=named(pipeline, naming))

    result = {row.pop("n"): row for row in rows_of(pipeline, "wide")}
    for row in rows:
        number = row.pop("n")
        assert Counter(map(str, result[number].values())) == Counter(map(str, leaves(row)))
    columns = Counter(name for row in result.values() for name in row)
    assert os.environ["PATH"] not in "".join(columns)
    lists = [name for name in pipeline.dataset().tables if name.startswith("wide") and name != "wide"]
    elements = [row["value"] for name in lists for row in rows_of(pipeline, name)]
    assert sorted(elements) == sorted(rows[0][names[-1]])
    name = max(columns)
    some = pipeline.dataset()["wide"].where(name, "in", [row[name] for row in result.values() if name in row])
    assert len(some.select(name).order_by(name).fetchall()) == columns[name]


def dispositions_hold(hostile: Hostile, pipeline: penstock.Pipeline, naming: str, keys: int) -> None:
    """Check that a merge distinguishes keys of any text, under a column of any name."""
    key, values = hostile.texts(2), hostile.texts(2 * keys)
    first = {item: hostile.text() for item in values[: keys + keys // 2]}
    second = {
        item: first[item] if item in first and hostile.chance(0.5) else f"{hostile.text()}!"
        for item in values[keys:]
    }
    for load in (first, second):
        rows = [{key[0]: item, key[1]: value} for item, value in load.items()]
        pipeline.run(
            [
                penstock.resource(rows, name=name, primary_key=key[0], write_disposition=disposition)
                for name, disposition in DISPOSITIONS.items()
            ],
            schema=named(pipeline, naming),
        )

    column, other = columns_of_keys(pipeline, key)

    def loaded(table: str, *, active: bool = False) -> Counter[tuple[str, str]]:
        result = rows_of(pipeline, table)
        return Counter(
            (row[column], row[other]) for row in result if not active or "_dlt_valid_to" not in row
        )

    changed = {item: value for item, value in second.items() if first.get(item) != value}
    assert loaded("appended") == Counter([*first.items(), *second.items()])
    assert loaded("replaced") == Counter(second.items())
    assert loaded("deleted_inserted") == Counter((first | second).items())
    assert loaded("upserted") == Counter((first | second).items())
    assert loaded("inserted") == Counter((second | first).items())
    assert loaded("versioned", active=True) == Counter(second.items())
    assert loaded("versioned") == Counter([*first.items(), *changed.items()])


def columns_of_keys(pipeline: penstock.Pipeline, keys: list[str]) -> list[str]:
    """Return the columns of two keys in order; the first one is the primary key."""
    table = pipeline.default_schema.tables["upserted"]
    names = [name for name in table.columns if name not in OWN]
    assert len(names) == len(keys)
    return sorted(names, key=lambda name: not table.columns[name].has("primary_key"))


def tables_arrive(pipeline: penstock.Pipeline, naming: str, names: list[str]) -> None:
    """Check table names from data: all rows of a name are in one table, and every table can be read."""
    rows = [{"n": number, "t": name} for number, name in enumerate([*names, *names])]
    resource = penstock.resource(rows, name="events", table_name=lambda row: row["t"])

    pipeline.run(resource, schema=named(pipeline, naming))
    pipeline.run([{"n": -1, "t": "later"}], table_name="later")

    dataset = pipeline.dataset()
    tables = [
        name for name in dataset.tables if name not in ("_dlt_loads", "_dlt_version", "_dlt_pipeline_state")
    ]
    result = [(table, row["n"], row["t"]) for table in tables for row in rows_of(pipeline, table)]
    assert sorted((number, name) for _, number, name in result) == [
        (-1, "later"),
        *((row["n"], row["t"]) for row in rows),
    ]
    assert len({(table, name) for table, _, name in result}) == len(names) + 1
    assert len(dataset.load_ids()) == 2


def with_cursor(data: Any, name: str) -> Any:
    return penstock.resource(data, name=name, incremental=penstock.sources.incremental("c"))


def cursors_hold(hostile: Hostile, pipeline: penstock.Pipeline, spark: SparkSession, values: int) -> None:
    """Check that cursors of any text order rows, Python rows and frames alike."""
    drawn = hostile.texts(values)
    first = drawn[: values // 2]
    for part in (first, drawn):
        rows = [{"c": value} for value in part]
        frame = spark.createDataFrame(rows, "c STRING")
        pipeline.run([with_cursor(rows, "listed"), with_cursor([frame], "framed")])

    expected = Counter([*first, *(value for value in drawn if value > max(first))])
    for table in ("listed", "framed"):
        assert Counter(row["c"] for row in rows_of(pipeline, table)) == expected


def test_keys_that_name_spark_variables_are_merged_once(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    keys = ["${env:PATH}", "${system:user.home}", "a", "zz"]
    pipeline = make_pipeline(location, tmp_path, spark)

    for _ in range(2):
        pipeline.run(
            [{"id": key, "${env:HOME}": {"${env:PATH}": key}} for key in keys],
            table_name="items",
            primary_key="id",
            write_disposition=DISPOSITIONS["upserted"],
        )

    rows = pipeline.dataset()["items"].df()
    assert sorted(rows["id"]) == sorted(keys)
    assert list(rows["_env_homex___env_pathx"]) == list(rows["id"])


NAMES_STAY = "direct"  # so that they reach every statement


def test_hostile_keys_and_values_are_loaded(
    hostile: Hostile, spark: SparkSession, location: str, tmp_path: Path
) -> None:
    columns_arrive(hostile, make_pipeline(location, tmp_path, spark, name="wide"), NAMES_STAY, keys=25)
    dispositions_hold(
        hostile, make_pipeline(f"{location}/merged", tmp_path, spark, name="merged"), NAMES_STAY, keys=60
    )

    assert canary(spark) == "null"


@pytest.mark.at_length
def test_hostile_tables_and_cursors_are_loaded(
    hostile: Hostile, spark: SparkSession, location: str, tmp_path: Path
) -> None:
    tables = ["init", "_dlt_loads", "../../outside", *hostile.texts(1)]
    tables_arrive(make_pipeline(f"{location}/tables", tmp_path, spark, name="tables"), NAMES_STAY, tables)
    cursors_hold(
        hostile, make_pipeline(f"{location}/cursors", tmp_path, spark, name="cursors"), spark, values=40
    )

    assert canary(spark) == "null"


@pytest.mark.at_length
@pytest.mark.parametrize("naming", ["snake_case", "direct", "duck_case"])
def test_thousands_of_hostile_texts_are_loaded(
    naming: str,
    hostile: Hostile,
    spark: SparkSession,
    location: str,
    tmp_path: Path,
) -> None:
    counts: Counter[str] = Counter()

    def check(what: str, step: Callable[[penstock.Pipeline], None]) -> None:
        before, name = hostile.drawn, f"{what}{counts['rounds']}"
        step(make_pipeline(f"{location}/{name}", tmp_path, spark, name=name))
        counts[what] += hostile.drawn - before

    tables = [*TABLES, *hostile.texts(12)]
    check("tables", lambda pipeline: tables_arrive(pipeline, naming, tables))
    while hostile.drawn < 7_000:
        counts["rounds"] += 1
        check("columns", lambda pipeline: columns_arrive(hostile, pipeline, naming, keys=250))
        check("merges", lambda pipeline: dispositions_hold(hostile, pipeline, naming, keys=1_200))
        check("cursors", lambda pipeline: cursors_hold(hostile, pipeline, spark, values=500))

    assert canary(spark) == "null"
    print(f"{naming}: {hostile.drawn} texts drawn, {dict(counts)}")  # noqa: T201 - the figures
