"""Tables of a database, read by Spark in ranges of their keys.

Input:   credentials of a database, and names of tables or queries.
Output:  resources that yield DataFrames, with the types, keys and references of the database.
Imports: spark, interfaces, schema, config, errors.
"""

from typing import Any

from penstock.errors import UsageError
from penstock.sources.extras import required_extra

with required_extra("spark", module="pyspark", needed_for="a source that Spark reads"):
    from penstock.sources.sql_database.api import sql_database, sql_table
    from penstock.sources.sql_database.column_types import ReflectionLevel
    from penstock.sources.sql_database.jdbc import SqlCredentials

__all__ = ["ReflectionLevel", "SqlCredentials", "sql_database", "sql_table"]

_NAMES_OF_SQLALCHEMY = {
    "BaseTableLoader": "omit it: Spark reads the table; pass the SQL to run as sql_table(query=...)",
    "ConnectorXTableLoader": "omit it: Spark reads the table in ranges of its key",
    "TableLoader": "omit it: Spark reads the table; pass the SQL to run as sql_table(query=...)",
    "engine_from_credentials": "pass the credentials to sql_database or sql_table",
    "remove_nullability_adapter": "use apply_hints(columns={name: {'nullable': True}})",
}


def __getattr__(name: str) -> Any:
    """Refuse the names of dlt's source that belong to SQLAlchemy, with what replaces them."""
    if name in _NAMES_OF_SQLALCHEMY:
        raise UsageError(
            f"{name} belongs to SQLAlchemy, and Spark reads the tables here", hint=_NAMES_OF_SQLALCHEMY[name]
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
