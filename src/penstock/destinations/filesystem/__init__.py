"""Folders of tables as dlt names them: plain files, or a table format that the table says."""
