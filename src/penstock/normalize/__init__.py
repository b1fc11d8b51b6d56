"""Normalization: extracted rows become typed tables.

Takes:   the part files of a package and the stored schema.
Gives:   one nested typed dataset for each root table, jobs with projections of it, and the schema after.
Touches: package, spark, schema, interfaces, errors.
"""
