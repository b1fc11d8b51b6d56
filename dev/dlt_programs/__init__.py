"""Programs written for dlt, run with dlt and with penstock against local servers; their tables must be equal.

`python -m dev.dlt_programs VERIFIED_SOURCES DLT [NAME ...]` takes checkouts of the two repositories of
dlt-hub, and no code of theirs is stored here: the catalog names the programs, and a driver for each calls it
and has invented replies in the format of its API.
"""
