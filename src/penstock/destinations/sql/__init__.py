"""SQL databases as destinations: statements, transactions of loads, ledger, clients.

What a database of a third party is made of: connections, a dialect with types, and a client that
overrides what the database can do in a better way. Statements are expressions of sqlglot.
"""

from penstock.destinations.sql.client import SqlClient
from penstock.destinations.sql.connection import LiveColumns, Row, SqlConnection, SqlDatabase
from penstock.destinations.sql.ddl import column_definition, create_table, drop_table
from penstock.destinations.sql.dialect import DatasetNames, SqlDialect, column, identifier
from penstock.destinations.sql.run import staged_batches, staged_columns
from penstock.destinations.sql.staging import POSITION, StagedTable

__all__ = [
    "POSITION",
    "DatasetNames",
    "LiveColumns",
    "Row",
    "SqlClient",
    "SqlConnection",
    "SqlDatabase",
    "SqlDialect",
    "StagedTable",
    "column",
    "column_definition",
    "create_table",
    "drop_table",
    "identifier",
    "staged_batches",
    "staged_columns",
]
