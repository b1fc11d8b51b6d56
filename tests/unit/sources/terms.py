"""How the tables of a database are read, for tests that read none."""

from __future__ import annotations

from penstock.sources.sql_database.budget import Budget
from penstock.sources.sql_database.place import place_of
from penstock.sources.sql_database.run import Database
from penstock.sources.sql_database.tables import Terms


def terms_of(url: str) -> Terms:
    """By one connection at a time, in eight ranges."""
    database = Database(place=place_of(url))
    return Terms(database=database, schema="public", budget=Budget(1), partitions=8, settle=0, level="full")
