"""Types of columns in Postgres are those of dlt."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.destinations.postgres.reference import POSTGRES
from penstock.destinations.postgres.types import PostgresTypeMapper, copy_type

MAPPER = PostgresTypeMapper(POSTGRES.capabilities())
TYPES: list[tuple[dict[str, Any], str, str]] = [
    ({"data_type": "text"}, "varchar", "text"),
    ({"data_type": "text", "precision": 10}, "varchar(10)", "text"),
    ({"data_type": "bigint"}, "bigint", "int8"),
    ({"data_type": "bigint", "precision": 8}, "smallint", "int2"),
    ({"data_type": "bigint", "precision": 32}, "integer", "int4"),
    ({"data_type": "double"}, "double precision", "float8"),
    ({"data_type": "bool"}, "boolean", "bool"),
    ({"data_type": "json"}, "jsonb", "jsonb"),
    ({"data_type": "binary"}, "bytea", "bytea"),
    ({"data_type": "date"}, "date", "date"),
    ({"data_type": "time"}, "time without time zone", "time"),
    ({"data_type": "time", "precision": 3}, "time (3) without time zone", "time"),
    ({"data_type": "timestamp"}, "timestamp with time zone", "timestamptz"),
    ({"data_type": "timestamp", "precision": 3}, "timestamp (3) with time zone", "timestamptz"),
    ({"data_type": "timestamp", "timezone": False}, "timestamp without time zone", "timestamp"),
    ({"data_type": "decimal"}, "numeric(38,9)", "numeric"),
    ({"data_type": "decimal", "precision": 10, "scale": 2}, "numeric(10,2)", "numeric"),
    ({"data_type": "wei"}, "numeric(156,78)", "numeric"),
]
"""The types of columns that dlt 1.31 creates."""


@pytest.mark.parametrize(("column", "sql_type", "copied"), TYPES)
def test_a_column_has_the_type_of_dlt(column: dict[str, Any], sql_type: str, copied: str) -> None:
    named: Any = {"name": "value", **column}

    assert MAPPER.to_destination_type(named, {}) == sql_type
    assert copy_type(named) == copied


def test_a_geometry_has_its_reference_system() -> None:
    column: Any = {"name": "at", "data_type": "text", "x-postgres-geometry": True, "x-postgres-srid": 3857}

    assert MAPPER.to_destination_type(column, {}) == "geometry(Geometry, 3857)"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"data_type": "bigint", "precision": 128}, "Postgres has no integers of 128 bits"),
        ({"data_type": "timestamp", "precision": 9}, "fractions of seconds with 9 digits"),
    ],
)
def test_a_precision_that_postgres_does_not_have_is_refused(column: dict[str, Any], message: str) -> None:
    named: Any = {"name": "value", **column}

    with pytest.raises(ValueError, match=message):
        MAPPER.to_destination_type(named, {})


@pytest.mark.parametrize(
    ("db_type", "precision", "scale", "column"),
    [
        ("character varying", None, None, {"data_type": "text"}),
        ("numeric", 10, 2, {"data_type": "decimal", "precision": 10, "scale": 2}),
        ("numeric", 156, 78, {"data_type": "wei"}),
        ("smallint", None, None, {"data_type": "bigint", "precision": 16}),
        ("timestamp without time zone", None, None, {"data_type": "timestamp", "timezone": False}),
        ("timestamp (3) with time zone", None, None, {"data_type": "timestamp"}),
        ("jsonb", None, None, {"data_type": "json"}),
    ],
)
def test_a_type_of_postgres_is_read_as_a_column(
    db_type: str, precision: int | None, scale: int | None, column: dict[str, Any]
) -> None:
    assert MAPPER.from_destination_type(db_type, precision, scale) == column


def test_an_unknown_type_of_postgres_is_refused() -> None:
    with pytest.raises(ValueError, match="'tsvector' is not a type of columns"):
        MAPPER.from_destination_type("tsvector", None, None)
