"""Options of a SQL source for tests without a database."""

from __future__ import annotations

from penstock.sources.sql_database.connections import ConnectionBudget
from penstock.sources.sql_database.jdbc import jdbc_config
from penstock.sources.sql_database.run import Database
from penstock.sources.sql_database.table_reader import SqlOptions


def sql_options_of(url: str) -> SqlOptions:
    """By one connection at a time, in eight ranges."""
    database = Database(jdbc=jdbc_config(url))
    return SqlOptions(
        database=database,
        schema="public",
        connections=ConnectionBudget(1),
        partitions=8,
        settle=0,
        reflection_level="full",
    )
