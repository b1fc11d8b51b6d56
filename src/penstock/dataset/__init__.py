"""Reading what was loaded.

Takes:   an opened destination and the user's session.
Gives:   tables as Spark, pandas or Arrow frames, system tables included.
Touches: package, spark, interfaces, errors.
"""
