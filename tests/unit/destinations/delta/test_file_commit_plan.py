"""Files are committed by reference only to tables that are known to take them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.delta.file_commit_plan import (
    TableFacts,
    find_obstacle,
    indexed_columns,
    is_safe_file,
    library_address,
    nullable_schema,
)


def column(name: str, kind: Any = "long", *, nullable: bool = True, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def with_metadata(key: str) -> dict[str, Any]:
    return {**column("name", "string"), "metadata": {key: "1"}}


def struct(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


def array(element: Any, *, contains_null: bool = True) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": contains_null}


ROWS = struct(column("id", nullable=False), column("name", "string"))
TABLE = TableFacts(protocol=(1, 2), schema=nullable_schema(ROWS))
KINDS = st.recursive(
    st.sampled_from(["long", "string", "decimal(10,2)", "timestamp", "boolean", "binary"]),
    lambda kinds: (
        kinds.map(array)
        | st.lists(kinds, min_size=1, max_size=3).map(
            lambda types: struct(*(column(f"f{number}", kind) for number, kind in enumerate(types)))
        )
    ),
    max_leaves=5,
)


def test_rows_with_the_columns_of_the_table_have_no_obstacle() -> None:
    assert find_obstacle(TABLE, ROWS, "append") is None
    assert find_obstacle(TABLE, struct(column("name", "string")), "append") is None
    assert find_obstacle(TABLE, ROWS, "overwrite") is None
    assert find_obstacle(None, ROWS, "append") is None
    features = frozenset(("timestampNtz", "invariants", "appendOnly"))
    assert find_obstacle(replace(TABLE, protocol=(3, 7), features=features), ROWS, "append") is None
    assert find_obstacle(replace(TABLE, properties={"team": "shop"}), ROWS, "append") is None


@pytest.mark.parametrize(
    "feature",
    [
        "changeDataFeed",
        "checkConstraints",
        "clustering",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "icebergCompatV2",
        "identityColumns",
        "inCommitTimestamp",
        "rowTracking",
        "typeWidening",
        "v2Checkpoint",
        "variantType",
        "not invented yet",
    ],
)
def test_a_table_with_another_feature_is_written_by_spark(feature: str) -> None:
    table = replace(TABLE, protocol=(3, 7), features=frozenset((feature, "appendOnly")))

    assert find_obstacle(table, ROWS, "append") == f"the table has the feature {feature}"


@pytest.mark.parametrize("protocol", [(1, 3), (1, 4), (2, 5), (1, 7), (4, 7), (3, 8)])
def test_a_table_with_another_protocol_is_written_by_spark(protocol: tuple[int, int]) -> None:
    assert "protocol" in (find_obstacle(replace(TABLE, protocol=protocol), ROWS, "append") or "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"partition_columns": ("id",)}, "partitioned"),
        ({"properties": {"delta.constraints.c": "id > 0"}}, "delta.constraints.c"),
        ({"properties": {"delta.autoOptimize.optimizeWrite": "true"}}, "optimizeWrite"),
        ({"properties": {"delta.dataSkippingStatsColumns": "id"}}, "StatsColumns"),
        ({"properties": {"delta.dataSkippingNumIndexedCols": "all"}}, "not a number"),
        ({"schema": struct(column("id", nullable=False), column("name", "string"))}, "not nullable"),
        (
            {"schema": struct(column("id"), with_metadata("delta.invariants"))},
            "invariants",
        ),
        ({"schema": struct(column("id"), with_metadata("CURRENT_DEFAULT"))}, "CURRENT_DEFAULT"),
        ({"schema": struct(column("ID"), column("name", "string"))}, "column id is new"),
        ({"schema": struct(column("id", "integer"), column("name", "string"))}, "another type"),
    ],
)
def test_what_spark_has_to_write(changes: dict[str, Any], reason: str) -> None:
    assert reason in (find_obstacle(replace(TABLE, **changes), ROWS, "append") or "")


def test_new_columns_are_added_by_a_commit_unless_they_need_more() -> None:
    table = replace(TABLE, schema=struct(column("id")))
    assert find_obstacle(table, ROWS, "append") is None
    assert find_obstacle(table, ROWS, "overwrite") is None
    odd = struct(column("id"), column("a b"))
    assert "mapping" in (find_obstacle(table, odd, "append") or "")
    local = struct(column("id"), column("local", "timestamp_ntz"))
    assert "timestamp_ntz" in (find_obstacle(table, local, "append") or "")
    ntz = replace(table, protocol=(3, 7), features=frozenset({"timestampNtz"}))
    assert find_obstacle(ntz, local, "append") is None


def test_a_comment_of_a_column_is_no_obstacle() -> None:
    schema = struct(column("id", comment="the number"), column("name", "string"))

    assert find_obstacle(replace(TABLE, schema=schema), ROWS, "append") is None


def test_a_table_for_new_rows_only_is_not_overwritten() -> None:
    table = replace(TABLE, properties={"delta.appendOnly": "true"})

    assert find_obstacle(table, ROWS, "append") is None
    assert find_obstacle(table, ROWS, "overwrite") == "the table only takes new rows"


@pytest.mark.parametrize("kind", ["void", "variant", "interval", "varchar(3)", "string collate UTF8_LCASE"])
@pytest.mark.parametrize("table", [TABLE, None])
def test_types_without_a_rule_are_written_by_spark(kind: str, table: TableFacts | None) -> None:
    for nested in (kind, array(kind), struct(column("inner", kind))):
        assert "has type" in (find_obstacle(table, struct(column("c", nested)), "append") or "")


@pytest.mark.parametrize("name", ["a b", "a,b", "a;b", "{a", "a)", "a=b", "a\nb"])
def test_names_that_need_a_mapping_are_written_by_spark(name: str) -> None:
    assert "mapping" in (find_obstacle(None, struct(column(name)), "append") or "")
    assert "mapping" in (find_obstacle(None, struct(column("s", struct(column(name)))), "append") or "")


def test_names_that_differ_in_case_are_written_by_spark() -> None:
    assert "case" in (find_obstacle(None, struct(column("a"), column("A")), "append") or "")


@given(KINDS, KINDS)
def test_a_nested_type_fits_exactly_the_types_that_have_all_of_its_fields(kind: Any, other: Any) -> None:
    table = replace(TABLE, schema=struct(column("c", other)))

    result = find_obstacle(table, struct(column("c", kind)), "append")

    assert (result is None) == fits(kind, other)


def fits(kind: Any, other: Any) -> bool:
    if isinstance(kind, str) or isinstance(other, str) or kind["type"] != other["type"]:
        return bool(kind == other)
    if kind["type"] == "array":
        return fits(kind["elementType"], other["elementType"])
    types = {field["name"]: field["type"] for field in other["fields"]}
    return all(
        field["name"] in types and fits(field["type"], types[field["name"]]) for field in kind["fields"]
    )


def test_a_new_table_has_no_constraint() -> None:
    kind = {"type": "map", "keyType": "string", "valueType": ROWS, "valueContainsNull": False}
    schema = nullable_schema(struct(column("a", array(kind, contains_null=False), nullable=False, x="y")))

    assert find_obstacle(replace(TABLE, schema=schema), schema, "append") is None
    assert schema["fields"][0]["metadata"] == {}


def test_the_first_columns_have_statistics() -> None:
    schema = struct(column("s", struct(column("a"), column("b"))), *(column(f"c{n}") for n in range(40)))

    assert len(indexed_columns(schema, {})) == 32
    assert indexed_columns(schema, {"delta.dataSkippingNumIndexedCols": "1"}) == (("s", "a"),)
    assert len(indexed_columns(schema, {"delta.dataSkippingNumIndexedCols": "-1"})) == 42


def test_paths_that_are_decoded_twice_are_not_opened() -> None:
    assert library_address("/lake/ä b/[0]=x") == "file:///lake/%C3%A4%20b/%5B0%5D%3Dx"
    assert not any(library_address(f"/lake/a{sign}b") for sign in "%#?\\\n")
    assert library_address("s3://bucket/raw/items") == "s3://bucket/raw/items"
    assert not any(library_address(f"s3://bucket/a{sign}b") for sign in "%#? ä")
    assert not any(map(is_safe_file, ("../a", "/a", "_a/b", "a/.b", "a=b/c", "a//b", "a b", "")))
