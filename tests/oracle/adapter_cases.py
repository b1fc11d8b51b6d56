"""Calls of adapters on a resource, whose hints are compared with those of dlt.

A case is a list of calls: the adapter and its arguments. A partition is
`{"$partition": [class, method, *arguments]}`.
"""

from __future__ import annotations

from typing import Any, Final

Calls = list[tuple[str, dict[str, Any]]]


def _partition(kind: str, method: str, *arguments: Any) -> dict[str, Any]:
    return {"$partition": [kind, method, *arguments]}


RESOURCE: Final[dict[str, Any]] = {
    "columns": {
        "id": {"data_type": "bigint", "nullable": True},
        "day": {"data_type": "date"},
        "note": {"data_type": "text", "sort": True, "partition": True},
    },
    "write_disposition": "merge",
}
"""The hints of the resource before the calls."""


def changes(table: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the hints of a table that the resource did not have before, and the columns that it lost."""
    if table is None:
        return None
    columns = table["columns"]
    before: dict[str, dict[str, Any]] = RESOURCE["columns"]
    return {
        "table": {hint: value for hint, value in sorted(table.items()) if hint.startswith("x-")},
        "columns": {
            name: new
            for name, column in sorted(columns.items())
            if (
                new := {key: value for key, value in sorted(column.items()) if key not in _same(name, column)}
            )
        },
        "lost": sorted(before.keys() - columns.keys()),
    }


def _same(name: str, column: dict[str, Any]) -> set[str]:
    before = RESOURCE["columns"].get(name, {})
    return {"name"} | {key for key, value in column.items() if key in before and before[key] == value}


_ATHENA = [
    *(_partition("athena_partition", name, "day") for name in ("year", "month", "day", "hour")),
    _partition("athena_partition", "bucket", 8, "id"),
    _partition("athena_partition", "truncate", 3, "note"),
]
_RANGES = _partition("bigquery_partition", "range_bucket", "id", 0, 100, 10)

CASES: Final[dict[str, Calls]] = {
    **{
        f"athena, {partition['$partition'][1]}": [("athena_adapter", {"partition": partition})]
        for partition in _ATHENA
    },
    "athena, several": [("athena_adapter", {"partition": ["note", *_ATHENA[3:]]})],
    "athena, replaced": [("athena_adapter", {"partition": column}) for column in ("note", "day")],
    "athena, none": [("athena_adapter", {})],
    "bigquery, partition": [("bigquery_adapter", {"partition": "day"})],
    "bigquery, partition replaced": [("bigquery_adapter", {"partition": column}) for column in ("day", "id")],
    "bigquery, ranges": [("bigquery_adapter", {"partition": _RANGES})],
    "bigquery, two partitions": [("bigquery_adapter", {"partition": ["day", "id"]})],
    "bigquery, cluster": [("bigquery_adapter", {"cluster": "new"})],
    "bigquery, clusters": [("bigquery_adapter", {"cluster": ["note", "id"], "partition": "id"})],
    "bigquery, cluster by a number": [("bigquery_adapter", {"cluster": 1})],
    "bigquery, rounding": [
        ("bigquery_adapter", {"round_half_even": "a", "round_half_away_from_zero": ["b", "c"]})
    ],
    "bigquery, rounding in two ways": [
        ("bigquery_adapter", {"round_half_even": ["a", "b"], "round_half_away_from_zero": ["b"]})
    ],
    "bigquery, table": [
        (
            "bigquery_adapter",
            {
                "table_description": "Orders",
                "table_expiration_datetime": "2030-01-02",
                "partition_expiration_days": 7,
                "autodetect_schema": True,
                "insert_api": "default",
                "partition": "day",
            },
        )
    ],
    "bigquery, expiration with a time": [
        ("bigquery_adapter", {"table_expiration_datetime": "2030-01-02T03:04:05", "cluster": "id"})
    ],
    "bigquery, expiration in a zone": [
        ("bigquery_adapter", {"table_expiration_datetime": "2030-01-02T03:04:05+02:00", "cluster": "id"})
    ],
    "bigquery, expiration that is no time": [("bigquery_adapter", {"table_expiration_datetime": "soon"})],
    "bigquery, description that is no text": [("bigquery_adapter", {"table_description": 1})],
    "bigquery, days that are no number": [("bigquery_adapter", {"partition_expiration_days": "7"})],
    "bigquery, streaming of a merge": [("bigquery_adapter", {"insert_api": "streaming"})],
    "bigquery, none": [("bigquery_adapter", {})],
    "clickhouse, engine": [("clickhouse_adapter", {"table_engine_type": "replicated_merge_tree"})],
    **{
        f"clickhouse, engine {name}": [("clickhouse_adapter", {"table_engine_type": name})]
        for name in ("merge_tree", "shared_merge_tree", "replacing_merge_tree", "log")
    },
    "clickhouse, sort by columns": [("clickhouse_adapter", {"sort": ["id", "new"]})],
    "clickhouse, sort by an expression": [("clickhouse_adapter", {"sort": "(upper(town), id)"})],
    "clickhouse, partition": [("clickhouse_adapter", {"partition": "toYYYYMM(day)"})],
    "clickhouse, partition by columns": [("clickhouse_adapter", {"partition": ["day"], "sort": ["day"]})],
    "clickhouse, settings": [("clickhouse_adapter", {"settings": {"allow_nullable_key": True}})],
    "clickhouse, codecs": [("clickhouse_adapter", {"codecs": {"id": "Delta, ZSTD(2)", "new": "LZ4HC"}})],
    "clickhouse, none": [("clickhouse_adapter", {})],
    "clickhouse, sort by a number": [("clickhouse_adapter", {"sort": 1})],
    "clickhouse, settings that are a list": [("clickhouse_adapter", {"settings": ["a"]})],
    "clickhouse, codecs that are a text": [("clickhouse_adapter", {"codecs": "LZ4"})],
    "lance, embed": [("lance_adapter", {"embed": "note"})],
    "lance, all": [("lance_adapter", {"embed": ["note", "new"], "merge_key": "id", "remove_orphans": False})],
    "lance, none": [("lance_adapter", {})],
    "lance, embed a number": [("lance_adapter", {"embed": 1})],
    "lancedb, embed": [("lancedb_adapter", {"embed": "note"})],
    "lancedb, all": [
        ("lancedb_adapter", {"embed": ["note", "new"], "merge_key": ["id"], "no_remove_orphans": True})
    ],
    "lancedb, none": [("lancedb_adapter", {})],
    "postgres, geometry": [("postgres_adapter", {"geometry": "place"})],
    "postgres, geometries": [("postgres_adapter", {"geometry": ["place", "note"], "srid": 25832})],
    "postgres, geometry without a system": [("postgres_adapter", {"geometry": "place", "srid": None})],
    "postgres, none": [("postgres_adapter", {})],
    "qdrant, embed": [("qdrant_adapter", {"embed": "note"})],
    "qdrant, embed twice": [("qdrant_adapter", {"embed": [column]}) for column in ("note", "new")],
    "qdrant, none": [("qdrant_adapter", {})],
    "synapse, heap": [("synapse_adapter", {"table_index_type": "heap"})],
    "synapse, columns": [("synapse_adapter", {"table_index_type": "clustered_columnstore_index"})],
    "synapse, unknown": [("synapse_adapter", {"table_index_type": "tree"})],
    "synapse, none": [("synapse_adapter", {})],
    "weaviate, vectorize": [("weaviate_adapter", {"vectorize": "note"})],
    "weaviate, both": [
        ("weaviate_adapter", {"vectorize": ["note", "new"], "tokenization": {"note": "word", "id": "field"}})
    ],
    **{
        f"weaviate, tokens by {method}": [("weaviate_adapter", {"tokenization": {"note": method}})]
        for method in ("word", "lowercase", "whitespace", "field", "letter")
    },
    "weaviate, vectorize a number": [("weaviate_adapter", {"vectorize": 1})],
    "weaviate, none": [("weaviate_adapter", {})],
    "iceberg, partitions": [("iceberg_adapter", {"partition": ["note", "day"]})],
    "two adapters": [
        ("weaviate_adapter", {"vectorize": "note"}),
        ("bigquery_adapter", {"cluster": "id"}),
        ("clickhouse_adapter", {"sort": ["id"]}),
    ],
}
