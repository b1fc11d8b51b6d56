"""Adapters set the hints of destinations, on resources, sources and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.destinations.adapters import (
    athena_adapter,
    bigquery_adapter,
    clickhouse_adapter,
    databricks_adapter,
    iceberg_adapter,
    iceberg_partition,
    postgres_adapter,
    qdrant_adapter,
    synapse_adapter,
    weaviate_adapter,
)
from penstock.destinations.delta.ddl import cluster_columns, partition_columns, table_properties
from penstock.destinations.iceberg.ddl import partition_fields
from penstock.errors import UsageError
from penstock.schema import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


def test_an_adapter_changes_the_single_selected_resource_of_a_source() -> None:
    @penstock.source
    def shop() -> list[penstock.sources.Resource]:
        return [penstock.resource([{"id": 1}], name=name) for name in ("orders", "items")]

    orders_only = shop().with_resources("orders")

    qdrant_adapter(orders_only, embed="note")

    assert orders_only.resources["orders"].columns["note"]["x-qdrant-embed"] is True
    with pytest.raises(UsageError, match="single resource"):
        qdrant_adapter(shop(), embed="note")


def test_a_function_keeps_its_name() -> None:
    def visits() -> list[dict[str, int]]:
        return [{"id": 1}]

    assert qdrant_adapter(visits, embed="note").name == "visits"


@pytest.mark.parametrize(
    ("adapter", "arguments", "reason"),
    [
        (
            synapse_adapter,
            {"table_index_type": "tree"},
            "table_index_type of synapse_adapter cannot be 'tree'",
        ),
        (weaviate_adapter, {"tokenization": {"a": "letter"}}, "tokenization .* cannot be 'letter'"),
        (clickhouse_adapter, {"table_engine_type": "log"}, "table_engine_type .* cannot be 'log'"),
        (clickhouse_adapter, {"settings": ["a"]}, "settings=.*invalid"),
        (bigquery_adapter, {"insert_api": "batch"}, "insert_api of bigquery_adapter cannot be 'batch'"),
        (bigquery_adapter, {"table_expiration_datetime": "soon"}, "table_expiration_datetime='soon'"),
        (bigquery_adapter, {"round_half_even": "a", "round_half_away_from_zero": "a"}, "a cannot be rounded"),
        (postgres_adapter, {"geometry": {"a"}}, "geometry=.*invalid"),
        (qdrant_adapter, {}, "qdrant_adapter got no hints"),
        (athena_adapter, {"partition": [1]}, "partition=1 of athena_adapter is invalid"),
    ],
)
def test_adapters_refuse_values_that_their_destination_does_not_know(
    adapter: Callable[..., object], arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        adapter([{"id": 1}], **arguments)


def test_a_streaming_insert_of_bigquery_needs_rows_that_are_appended() -> None:
    merged = penstock.resource([{"id": 1}], name="orders", write_disposition="merge")

    with pytest.raises(UsageError, match="orders has the write disposition 'merge'"):
        bigquery_adapter(merged, insert_api="streaming")
    appended = bigquery_adapter([{"id": 1}], insert_api="streaming")
    assert dict(appended.compute_table_schema())["x-insert-api"] == "streaming"


def test_hints_of_adapters_are_stored_in_the_package(tmp_path: Path) -> None:
    orders = bigquery_adapter([{"id": 1}], table_expiration_datetime="2030-01-02", cluster="id")

    penstock.pipeline("shop", pipelines_dir=str(tmp_path)).extract(orders)

    stored = "".join(path.read_text("utf-8") for path in tmp_path.rglob("*.json"))
    assert "2030-01-02T00:00:00+00:00" in stored
    assert "x-bigquery-cluster-columns" in stored
