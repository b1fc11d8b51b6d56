from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.delta.ddl import (
    ALTERABLE_TYPES,
    can_widen,
    cluster_columns,
    create_statement,
    partition_columns,
    table_properties,
    wider_types,
)
from penstock.destinations.lake.ddl import changed_types, set_properties_statement
from penstock.errors import DestinationTerminalException
from penstock.schema import Column, Table, spark_type

DECIMALS = st.tuples(st.integers(1, 38), st.integers(0, 38)).filter(lambda digits: digits[1] <= digits[0])
WHOLE = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def table(columns: dict[str, dict[str, Any]], **extras: Any) -> Table:
    return Table.from_dict({"name": "items", "columns": columns, **extras})


ITEMS = table(
    {
        "id": {"data_type": "bigint", "precision": 32},
        "odd `name`": {"data_type": "text", "partition": True},
        "waiting": {"cluster": True},
        "at": {"data_type": "timestamp", "cluster": True},
    }
)


def test_only_columns_with_a_type_are_created() -> None:
    assert create_statement("`t`", ITEMS, {}) == (
        "CREATE TABLE IF NOT EXISTS `t` (`id` INT, `odd ``name``` STRING, `at` TIMESTAMP) USING delta"
        " PARTITIONED BY (`odd ``name```)"
    )


def test_only_a_table_without_partitions_is_clustered() -> None:
    plain = ITEMS.without_columns("odd `name`")

    assert (partition_columns(ITEMS), cluster_columns(ITEMS)) == (("odd `name`",), ())
    assert create_statement("`t`", plain, {}).endswith("CLUSTER BY (`at`)")


def test_hints_of_a_table_override_settings_and_databricks_hints() -> None:
    hints = {
        "x-databricks-table-properties": {"a": 1, "b": "theirs"},
        "x-table-properties": {"b": "it's", "c": None},
    }

    properties = table_properties(table({}, **hints), {"a": 0, "d": True})

    assert properties == {"a": "1", "b": "it's", "d": "true"}
    assert (
        set_properties_statement("`t`", {"b": "it's"}) == "ALTER TABLE `t` SET TBLPROPERTIES ('b' = 'it\\'s')"
    )


def test_only_columns_with_two_different_types_are_changed() -> None:
    before = table({"a": {"data_type": "bigint", "precision": 32}, "b": {"data_type": "text"}, "c": {}})
    after = table({"a": {"data_type": "bigint"}, "b": {"data_type": "json"}, "c": {"data_type": "date"}})

    assert changed_types(before, after) == {"a": ("INT", "BIGINT")}


@given(old_type=DECIMALS, new_type=DECIMALS)
def test_a_decimal_is_widened_only_if_neither_side_of_the_point_shrinks(
    old_type: tuple[int, int], new_type: tuple[int, int]
) -> None:
    grows = new_type[1] >= old_type[1] and new_type[0] - new_type[1] >= old_type[0] - old_type[1]

    assert (
        can_widen(f"DECIMAL({old_type[0]},{old_type[1]})", f"DECIMAL({new_type[0]},{new_type[1]})") == grows
    )


@pytest.mark.parametrize(("old_type", "new_type"), [(a, b) for a in WHOLE for b in WHOLE if a != b])
def test_an_integer_is_widened_and_never_narrowed(old_type: str, new_type: str) -> None:
    assert can_widen(old_type, new_type) == (WHOLE[old_type] < WHOLE[new_type])


def test_unsupported_type_changes() -> None:
    pairs = [("BIGINT", "DOUBLE"), ("STRING", "BIGINT"), ("DATE", "TIMESTAMP"), ("BIGINT", "DECIMAL(20,2)")]

    assert not any(can_widen(old_type, new_type) for old_type, new_type in pairs)
    assert can_widen("DATE", "TIMESTAMP_NTZ")


def test_delta_supports_every_type_change_of_normalize() -> None:
    assert all(
        can_widen(*(spark_type(Column(name="c", data_type=kind)) for kind in pair))
        for pair in ALTERABLE_TYPES
    )


def test_a_wider_type_needs_the_table_property_and_a_narrower_one_does_not() -> None:
    types = {"a": ("INT", "BIGINT"), "b": ("BIGINT", "INT")}

    assert wider_types("items", types, {"delta.enableTypeWidening": "true"}) == {"a": "BIGINT"}
    assert wider_types("items", {"b": types["b"]}, {}) == {}
    with pytest.raises(DestinationTerminalException, match=r"items\.a has the type INT") as refused:
        wider_types("items", types, {})
    assert "delta.enableTypeWidening" in (refused.value.hint or "")
