"""Normalization: extracted rows become typed tables.

Input:   the part files of a package and the stored schema.
Output:  one nested typed dataset for each root table, jobs with projections of it, and the schema after.
Imports: package, spark, schema, interfaces, errors.
"""
