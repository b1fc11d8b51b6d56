"""Tables of a database, read by Spark in ranges of their keys.

Takes:   where the database is, and which tables or queries of it are wanted.
Gives:   resources that yield DataFrames, with types, keys and references as the database has them.
Touches: spark, interfaces, schema, config, errors.
"""

from penstock.sources import withspark  # noqa: F401 - first: it says what to install
from penstock.sources.sql_database.front import sql_database, sql_table
from penstock.sources.sql_database.place import SqlCredentials

__all__ = ["SqlCredentials", "sql_database", "sql_table"]
