"""Loads packages into Postgres: rows by COPY into staging tables, then one transaction."""
