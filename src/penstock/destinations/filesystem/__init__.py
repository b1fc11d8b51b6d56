"""Tables in folders with dlt's names: plain files, or the table format that a table names."""
