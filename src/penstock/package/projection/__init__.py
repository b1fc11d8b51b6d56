"""Flat tables as SQL over nested data: what a column reads, and the text that reads it."""
