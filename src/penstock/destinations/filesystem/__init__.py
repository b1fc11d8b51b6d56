"""Folders of tables in a table format, as dlt names them: `filesystem` with `table_format="delta"`."""
