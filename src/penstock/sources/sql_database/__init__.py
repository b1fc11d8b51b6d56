"""Tables of a database, read by Spark in ranges of their keys.

Input:   credentials of a database, and names of tables or queries.
Output:  resources that yield DataFrames, with the types, keys and references of the database.
Imports: spark, interfaces, schema, config, errors.
"""

from penstock.sources.extras import required_extra

with required_extra("spark", module="pyspark", needed_for="a source that Spark reads"):
    from penstock.sources.sql_database.api import sql_database, sql_table
    from penstock.sources.sql_database.jdbc import SqlCredentials

__all__ = ["SqlCredentials", "sql_database", "sql_table"]
