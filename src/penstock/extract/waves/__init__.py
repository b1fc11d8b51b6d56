"""Work items are shared out among executors, in waves: each is one Spark job and one entry in a ledger.

A run that dies leaves its finished waves; the next one goes on after them.
"""
