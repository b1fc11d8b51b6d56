"""Tables of a sealed package are written, committed and remembered.

Takes:   a sealed manifest and an opened destination.
Gives:   every table committed once, then the schema, the state, and last the ledger's row.
Touches: package, spark, interfaces, schema, errors.
"""
