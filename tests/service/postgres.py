"""Tables in the Postgres that `make up` starts, in a separate schema."""

from __future__ import annotations

import os
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = os.environ.get("PENSTOCK_TEST_POSTGRES", "")


@contextmanager
def new_schema() -> Iterator[str]:
    """Create a schema for the duration of a block."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    execute(f"CREATE SCHEMA {name}")
    try:
        yield name
    finally:
        execute(f"DROP SCHEMA {name} CASCADE")


def execute(statement: str) -> None:
    """Run statements, and commit."""
    with psycopg.connect(URL) as connection:
        connection.execute(statement)


def query(query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query."""
    with psycopg.connect(URL) as connection:
        return connection.execute(query).fetchall()
