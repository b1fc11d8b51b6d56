"""Writes and commits the tables of a sealed package, and records the load.

Input:   a sealed manifest and an opened destination.
Output:  every table committed once, then the schema, the state, and last the ledger row.
Imports: package, spark, interfaces, schema, errors.
"""
