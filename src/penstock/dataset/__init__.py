"""Reads of loaded data.

Input:   an opened destination and the user's session.
Output:  tables as Spark, pandas or Arrow frames, with the system tables.
Imports: package, spark, interfaces, schema, errors.
"""
