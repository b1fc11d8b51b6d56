"""Adapters set the hints that the lake destinations read, on resources and on data."""

from __future__ import annotations

import pytest

import penstock
from penstock.destinations.adapters import databricks_adapter, iceberg_adapter, iceberg_partition
from penstock.destinations.delta.ddl import cluster_columns, partition_columns, table_properties
from penstock.destinations.iceberg.ddl import partition_fields
from penstock.errors import UsageError
from penstock.schema import Table


def table_of(resource: penstock.sources.Resource) -> Table:
    """Return the declared table of a resource with types for its columns."""
    document = resource.compute_table_schema()
    columns = {name: {**column, "data_type": "bigint"} for name, column in document["columns"].items()}
    return Table.from_dict({**document, "columns": columns})


def test_clustering_and_properties_reach_the_table_of_delta() -> None:
    orders = databricks_adapter(
        penstock.resource([{"id": 1}], name="orders"),
        cluster=["id", "day"],
        table_properties={"delta.appendOnly": True},
    )

    assert orders.name == "orders"
    assert cluster_columns(table_of(orders)) == ("id", "day")
    assert table_properties(table_of(orders), {})["delta.appendOnly"] == "true"
    assert orders.compute_table_schema()["table_format"] == "delta"


def test_partitions_reach_the_table_of_delta() -> None:
    assert partition_columns(table_of(databricks_adapter([{"day": 1}], partition="day"))) == ("day",)


@pytest.mark.parametrize("arguments", [{"table_tags": ["x"]}, {"table_comment": "c"}, {"cluster": "AUTO"}])
def test_features_of_databricks_alone_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="Databricks"):
        databricks_adapter([{"id": 1}], **arguments)  # type: ignore[arg-type]


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="clusters"):
        databricks_adapter([{"id": 1}], clusters="id")


def test_partitions_reach_the_table_of_iceberg_with_their_transforms() -> None:
    visits = iceberg_adapter(
        [{"id": 1}],
        partition=[
            "region",
            iceberg_partition.year("a"),
            iceberg_partition.month("b"),
            iceberg_partition.day("c"),
            iceberg_partition.hour("d"),
            iceberg_partition.bucket(8, "id", "id_bucket"),
            iceberg_partition.truncate(3, "name"),
        ],
    )

    assert partition_fields(table_of(visits)) == (
        *("`region`", "years(`a`)", "months(`b`)", "days(`c`)", "hours(`d`)"),
        *("bucket(8, `id`)", "truncate(3, `name`)"),
    )


def test_the_data_of_a_plain_list_is_a_resource_called_content() -> None:
    assert iceberg_adapter([{"id": 1}], partition="id").name == "content"
