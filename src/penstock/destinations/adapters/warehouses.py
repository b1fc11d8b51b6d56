"""Adapters of databases and warehouses, for third-party destinations: penstock has none of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import sqlglot
from sqlglot import exp

from penstock.destinations.adapters.hints import (
    adapted_resource,
    checked_type,
    checked_word,
    column_names,
    joined_columns,
    without_hints,
)
from penstock.destinations.adapters.partitions import PartitionTransformation
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.destinations.adapters.hints import Columns
    from penstock.sources import Resource

Partition: TypeAlias = str | PartitionTransformation
"""A column, or an expression over one."""

_ENGINES: Final = ("merge_tree", "replacing_merge_tree", "shared_merge_tree", "replicated_merge_tree")
_INDEX_TYPES: Final = ("heap", "clustered_columnstore_index")
_INSERT_APIS: Final = ("default", "streaming")


def athena_adapter(data: Any, partition: Partition | Sequence[Partition] | None = None) -> Resource:
    """Set the partitions of a table for an Athena destination; see `athena_partition`.

    penstock has no such destination: a third-party one finds the hints in its schema. penstock writes Iceberg
    tables that Athena reads by `iceberg_adapter`.

    >>> from penstock.destinations.adapters import athena_partition
    >>> visits = athena_adapter([{"id": 1}], partition=["town", athena_partition.month("at")])
    >>> visits.compute_table_schema()["x-athena-partition"]
    {'town': '{column_name}', 'at': 'month({column_name})'}
    """
    partitions = [partition] if isinstance(partition, Partition) else partition or ()
    if not partitions:
        raise without_hints("athena_adapter", "partition")
    for item in partitions:
        checked_type("athena_adapter", "partition", item, str, PartitionTransformation)
    expressions = dict(
        (item, "{column_name}") if isinstance(item, str) else (item.column_name, item.template)
        for item in partitions
    )
    return adapted_resource(data).apply_hints(additional_table_hints={"x-athena-partition": expressions})


def bigquery_adapter(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    data: Any,
    partition: Partition | None = None,
    cluster: str | Sequence[str] | None = None,
    round_half_away_from_zero: str | Sequence[str] | None = None,
    round_half_even: str | Sequence[str] | None = None,
    table_description: str | None = None,
    table_expiration_datetime: str | None = None,
    insert_api: Literal["streaming", "default"] | None = None,
    autodetect_schema: bool | None = None,  # noqa: FBT001 - as above
    partition_expiration_days: int | None = None,
) -> Resource:
    """Set the partition, clusters, rounding and options of a table for a BigQuery destination.

    `table_expiration_datetime` is an ISO date or time in UTC. penstock has no such destination: a third-party
    one finds the hints in its schema.

    >>> orders = bigquery_adapter([{"id": 1}], partition="day", cluster=["town"])
    >>> orders.columns["day"], orders.compute_table_schema()["x-bigquery-cluster-columns"]
    ({'name': 'day', 'x-bigquery-partition': True}, ['town'])
    """
    adapter = "bigquery_adapter"
    checked_type(adapter, "partition", partition, str, PartitionTransformation)
    checked_type(adapter, "table_description", table_description, str)
    checked_type(adapter, "partition_expiration_days", partition_expiration_days, int)
    resource = adapted_resource(data)
    clusters = column_names(adapter, "cluster", cluster)
    columns = joined_columns(
        {partition: {"x-bigquery-partition": True}} if partition and isinstance(partition, str) else {},
        {name: {"x-bigquery-cluster": True} for name in clusters},
        _rounding(round_half_away_from_zero, round_half_even),
    )
    hints = {
        "x-bigquery-partition": {partition.column_name: partition.template}
        if isinstance(partition, PartitionTransformation)
        else None,
        "x-bigquery-cluster-columns": clusters or None,
        "x-bigquery-table-description": table_description or None,
        "x-bigquery-autodetect-schema": autodetect_schema or None,
        "x-bigquery-table-expiration": _expiration(table_expiration_datetime),
        "x-bigquery-partition-expiration-days": partition_expiration_days,
        "x-insert-api": _insert_api(insert_api, resource),
    }
    hints = {name: value for name, value in hints.items() if value is not None}
    if not (columns or hints):
        raise without_hints(adapter, "partition", "cluster", "table_description")
    if partition:
        _forget_partition(resource)
    return resource.apply_hints(columns=columns or None, additional_table_hints=hints)


def clickhouse_adapter(
    data: Any,
    table_engine_type: str | None = None,
    sort: str | Sequence[str] | None = None,
    partition: str | Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    codecs: Mapping[str, str] | None = None,
) -> Resource:
    """Set the engine, sorting key, partition, settings and codecs of a table for a ClickHouse destination.

    `sort` and `partition` are an SQL expression or a list of columns. Their columns are not nullable, unless
    they are declared so. penstock has no such destination: a third-party one finds the hints in its schema.

    >>> visits = clickhouse_adapter([{"id": 1}], sort=["town"], partition="toYYYYMM(day)")
    >>> visits.columns["day"], visits.compute_table_schema()["x-clickhouse-sort"]
    ({'name': 'day', 'partition': True, 'nullable': False}, ['town'])
    """
    adapter = "clickhouse_adapter"
    checked_type(adapter, "sort", sort, str, list, tuple)
    checked_type(adapter, "partition", partition, str, list, tuple)
    checked_type(adapter, "settings", settings, dict)
    checked_type(adapter, "codecs", codecs, dict)
    if table_engine_type is not None:
        checked_word(adapter, "table_engine_type", table_engine_type, _ENGINES)
    resource = adapted_resource(data)
    columns = joined_columns(
        _key_columns(resource, sort, "sort"),
        _key_columns(resource, partition, "partition"),
        {name: {"x-clickhouse-codec": codec} for name, codec in (codecs or {}).items()},
    )
    hints = {
        "x-table-engine-type": table_engine_type,
        "x-clickhouse-sort": sort,
        "x-clickhouse-partition": partition,
        "x-clickhouse-settings": settings,
    }
    hints = {name: value for name, value in hints.items() if value}
    return resource.apply_hints(columns=columns or None, additional_table_hints=hints or None)


def postgres_adapter(
    data: Any, geometry: str | Sequence[str] | None = None, srid: int | None = 4326
) -> Resource:
    """Set the columns of PostGIS geometries, and their reference system, for a Postgres destination.

    penstock has no such destination yet: a third-party one finds the hints in its schema.

    >>> postgres_adapter([{"place": "POINT(0 0)"}], geometry="place").columns["place"]
    {'x-postgres-geometry': True, 'x-postgres-srid': 4326, 'name': 'place'}
    """
    system = {} if srid is None else {"x-postgres-srid": srid}
    names = column_names("postgres_adapter", "geometry", geometry)
    if not names:
        raise without_hints("postgres_adapter", "geometry")
    return adapted_resource(data).apply_hints(
        columns={name: {"x-postgres-geometry": True, **system} for name in names}
    )


def synapse_adapter(data: Any, table_index_type: str | None = None) -> Resource:
    """Set the index of a table for a Synapse destination: `heap` or `clustered_columnstore_index`.

    penstock has no such destination: a third-party one finds the hints in its schema.

    >>> synapse_adapter([{"id": 1}], "heap").compute_table_schema()["x-table-index-type"]
    'heap'
    """
    if table_index_type is None:
        return adapted_resource(data)
    index = checked_word("synapse_adapter", "table_index_type", table_index_type, _INDEX_TYPES)
    return adapted_resource(data).apply_hints(additional_table_hints={"x-table-index-type": index})


def _rounding(away_from_zero: Any, even: Any) -> Columns:
    columns = {
        "round_half_away_from_zero": column_names(
            "bigquery_adapter", "round_half_away_from_zero", away_from_zero
        ),
        "round_half_even": column_names("bigquery_adapter", "round_half_even", even),
    }
    if both := sorted(set(columns["round_half_away_from_zero"]) & set(columns["round_half_even"])):
        raise UsageError(
            f"{', '.join(both)} cannot be rounded in two ways",
            hint="name each column in round_half_away_from_zero or in round_half_even",
        )
    return joined_columns(
        *(
            {name: {f"x-bigquery-{argument.replace('_', '-')}": True}}
            for argument, names in columns.items()
            for name in names
        )
    )


def _expiration(value: str | None) -> str | None:
    """Return the time in UTC, as a text that schemas can store; an offset is ignored, as in dlt."""
    if not value:
        return None
    try:
        return datetime.fromisoformat(value).replace(tzinfo=UTC).isoformat()
    except (TypeError, ValueError):
        raise UsageError(
            f"table_expiration_datetime={value!r} of bigquery_adapter is invalid",
            hint="pass an ISO date or time, such as 2030-01-31",
        ) from None


def _insert_api(insert_api: str | None, resource: Resource) -> str | None:
    if insert_api is None:
        return None
    if insert_api == "streaming" and resource.write_disposition != "append":
        raise UsageError(
            f"insert_api='streaming' of bigquery_adapter appends rows, and {resource.name} has the "
            f"write disposition {resource.write_disposition!r}",
            hint="use write_disposition='append', or insert_api='default'",
        )
    return checked_word("bigquery_adapter", "insert_api", insert_api, _INSERT_APIS)


def _forget_partition(resource: Resource) -> None:
    """Remove the hint of an earlier partition: a table has one."""
    columns = resource.columns or {}
    kept_hints = {
        name: {hint: value for hint, value in column.items() if hint != "x-bigquery-partition"}
        for name, column in columns.items()
    }
    if kept_hints != columns:
        resource.apply_hints(columns={})
        resource.apply_hints(columns=kept_hints)


def _key_columns(resource: Resource, key: str | Sequence[str] | None, hint: str) -> Columns:
    """Return the hints of the columns of a key: they must not be null unless they are declared nullable."""
    declared = resource.columns or {}
    nullable = {name for name, column in declared.items() if column.get("nullable") is True}
    return {
        name: {hint: True} if name in nullable else {hint: True, "nullable": False} for name in _names_in(key)
    }


def _names_in(key: str | Sequence[str] | None) -> list[str]:
    if not isinstance(key, str):
        return list(key or ())
    expression = sqlglot.parse_one(key, dialect="clickhouse") if key else exp.Tuple()
    return sorted({column.name for column in expression.find_all(exp.Column)})
