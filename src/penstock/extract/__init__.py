"""Rows leave the source and stand as files in a package.

Takes:   resources.
Gives:   Parquet part files of one JSON text column, on storage as they come; never rows in memory.
Touches: package, interfaces, errors.
"""
