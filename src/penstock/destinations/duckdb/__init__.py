"""DuckDB as a destination: one file on the driver, which commits a whole load in one transaction."""
