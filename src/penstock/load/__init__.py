"""Writes and commits the tables of a sealed package, and records the load.

Takes:   a sealed manifest and an opened destination.
Gives:   every table committed once, then the schema, the state, and last the ledger row.
Touches: package, spark, interfaces, schema, errors.
"""
