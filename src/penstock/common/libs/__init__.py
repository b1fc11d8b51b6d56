"""Libraries, by dlt's import path."""
