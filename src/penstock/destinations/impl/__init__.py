"""Single destinations, by dlt's import paths."""
