"""Rows that the inferred schema does not fit, found by SQL while they are parsed."""
