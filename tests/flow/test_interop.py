"""A dataset of one tool is continued by the other: state, schema and tables."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.flow.factories import make_pipeline

import penstock
from penstock.testing import documents, nested_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

SCRIPT = Path(__file__).parent / "dlt_side" / "continue_dataset.py"
APPEND: dict[str, Any] = {"write_disposition": "append"}
UPSERT: dict[str, Any] = {
    "write_disposition": {"disposition": "merge", "strategy": "upsert"},
    "primary_key": "id",
}
INSERT_ONLY: dict[str, Any] = {
    "write_disposition": {"disposition": "merge", "strategy": "insert-only"},
    "primary_key": "id",
}
TWO = [
    {"id": number, "name": f"dlt {number}", "tags": ["from dlt"], "seller": {"city": "x"}}
    for number in (100, 101)
]
Rows = list[dict[str, Any]]


def row(number: int, name: str, *tags: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "tags": list(tags), **more}


def dlt_continues(
    location: str,
    folder: Path,
    name: str = "quick",
    *,
    rows: Rows = TWO,
    files: str | None = None,
    **hints: Any,
) -> dict[str, Any]:
    """Load rows with dlt in a separate process; return the dataset as dlt reads it before and after."""
    python = os.environ.get("PENSTOCK_TEST_DLT_PYTHON")
    if python is None:
        pytest.skip("PENSTOCK_TEST_DLT_PYTHON is not set: `python3 -m dev.parts dlt` makes one and prints it")
    options = json.dumps({"rows": rows, "hints": hints or APPEND, "told": "by dlt", "files": files})
    command = [python, str(SCRIPT), location, str(folder), name, options]
    quiet = {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return output


def content(pipeline: penstock.Pipeline) -> dict[str, list[dict[str, Any]]]:
    dataset = pipeline.dataset()
    names = [name for name in dataset.tables if name.startswith("items")]
    return {name: dataset[name].arrow().to_pylist() for name in names}


def ids(tables: dict[str, Any]) -> dict[int, str]:
    return {row["id"]: row["_dlt_id"] for row in tables["items"]}


def names_and_tags(tables: dict[str, Any]) -> dict[int, tuple[str, Sequence[str]]]:
    """Return each document in short; fail on a nested row without a parent."""
    result = documents(tables, "items")
    assert result["orphans"] == {}
    assert len(result["rows"]) == len({row["id"] for row in result["rows"]}), "a key is there once"
    return {row["id"]: (row["name"], [tag["value"] for tag in row.get("tags", ())]) for row in result["rows"]}


def check_turns(actual: penstock.Pipeline, location: str, tmp_path: Path, files: str | None = None) -> None:
    """penstock creates a dataset, dlt loads into it, and penstock loads into it again."""
    actual.run(nested_rows(5), table_name="items")
    stored = actual.dataset()["_dlt_version"].spark().collect()[0]["version_hash"]

    output = dlt_continues(location, tmp_path / "dlt", files=files)
    between = actual.dataset().row_counts()
    actual.run(nested_rows(2), table_name="items")

    before = output["before"]
    assert before["schema"] == ["items", "items__parts", "items__tags"]
    assert (before["hash"], before["state_version"], before["first_run"]) == (stored, 1, False)
    assert before["rows"] == {"items": 5, "items__parts": 5, "items__tags": 10}
    assert output["after"]["rows"] == between == {"items": 7, "items__parts": 5, "items__tags": 12}
    assert actual.dataset().row_counts() == {"items": 9, "items__parts": 7, "items__tags": 16}
    versions = actual.dataset()["_dlt_version"].spark().orderBy("inserted_at").collect()
    assert versions[0]["version_hash"] == stored


@pytest.mark.at_length
def test_dlt_continues_a_dataset_of_penstock_and_penstock_continues_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    check_turns(make_pipeline(location, tmp_path, spark), location, tmp_path)


@pytest.mark.at_length
def test_penstock_continues_a_dataset_of_dlt_and_dlt_continues_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    begun = dlt_continues(location, tmp_path / "dlt")
    actual = make_pipeline(location, tmp_path, spark)

    info = actual.run(nested_rows(3), table_name="items")
    output = dlt_continues(location, tmp_path / "dlt elsewhere")

    assert begun["before"] is None
    assert info.packages[0].sequence == 1
    assert output["before"]["rows"] == {"items": 5, "items__parts": 3, "items__tags": 8}
    assert output["before"]["first_run"] is False
    assert output["after"]["rows"] == {"items": 7, "items__parts": 3, "items__tags": 10}
    loads = actual.dataset()["_dlt_loads"].spark().orderBy("load_id").collect()
    assert [row["pipeline_name"] for row in loads] == [None, "quick", None]


@pytest.mark.at_length
def test_dlt_upserts_into_tables_of_penstock_and_penstock_upserts_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    actual = make_pipeline(location, tmp_path, spark)
    first = [row(1, "a", "x", "y"), row(2, "b", "z"), row(3, "c")]
    actual.run(penstock.resource(first, name="items", **UPSERT))
    begun = ids(content(actual))

    # dlt, on Delta, never shortens a list: it keeps the rows past its end.
    output = dlt_continues(
        location, tmp_path / "dlt", rows=[row(2, "dlt", "w", "v"), row(4, "dlt", "u")], **UPSERT
    )
    actual.run(penstock.resource([row(2, "ours"), row(4, "ours", "t"), row(5, "e")], name="items", **UPSERT))

    assert names_and_tags(output["after"]["tables"]) == {
        1: ("a", ["x", "y"]),
        2: ("dlt", ["w", "v"]),
        3: ("c", []),
        4: ("dlt", ["u"]),
    }
    assert names_and_tags(content(actual)) == {
        1: ("a", ["x", "y"]),
        2: ("ours", []),
        3: ("c", []),
        4: ("ours", ["t"]),
        5: ("e", []),
    }
    assert begun.items() <= ids(output["after"]["tables"]).items(), "dlt gives a key the id that we gave it"
    assert ids(output["after"]["tables"]).items() <= ids(content(actual)).items()


@pytest.mark.at_length
def test_penstock_upserts_into_tables_of_dlt_and_dlt_upserts_after_it(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    begun = dlt_continues(
        location, tmp_path / "dlt", rows=[row(1, "a", "x", "y"), row(2, "b", "z")], **UPSERT
    )
    actual = make_pipeline(location, tmp_path, spark)

    actual.run(penstock.resource([row(1, "ours", "w"), row(3, "ours", "v")], name="items", **UPSERT))
    between = content(actual)
    output = dlt_continues(
        location, tmp_path / "dlt elsewhere", rows=[row(3, "dlt", "u", "t"), row(4, "dlt")], **UPSERT
    )

    assert names_and_tags(between) == {1: ("ours", ["w"]), 2: ("b", ["z"]), 3: ("ours", ["v"])}
    assert names_and_tags(output["after"]["tables"]) == {
        1: ("ours", ["w"]),
        2: ("b", ["z"]),
        3: ("dlt", ["u", "t"]),
        4: ("dlt", []),
    }
    assert ids(begun["after"]["tables"]).items() <= ids(between).items()
    assert ids(between).items() <= ids(output["after"]["tables"]).items()


@pytest.mark.at_length
def test_columns_and_state_of_one_tool_are_read_by_the_other(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    @penstock.resource(name="items", **INSERT_ONLY)
    def items(*rows: dict[str, Any]) -> Any:
        state = penstock.current.resource_state()
        seen.append(state.get("told"))
        state["told"] = "by penstock"
        yield from rows

    seen: list[Any] = []
    actual = make_pipeline(location, tmp_path, spark)
    actual.run(items(row(1, "a", colour="red")))

    output = dlt_continues(
        location, tmp_path / "dlt", rows=[row(1, "not taken"), row(2, "b", weight=5)], **INSERT_ONLY
    )
    elsewhere = make_pipeline(location, tmp_path / "another machine", spark)
    elsewhere.run(items(row(2, "not taken"), row(3, "c", weight=6, colour="blue")))

    result = {row["id"]: (row["name"], row["colour"], row["weight"]) for row in content(elsewhere)["items"]}
    assert result == {1: ("a", "red", None), 2: ("b", None, 5), 3: ("c", "blue", 6)}
    assert output["before"]["told"] == ["by penstock"]
    assert seen == [None, "by dlt"]
