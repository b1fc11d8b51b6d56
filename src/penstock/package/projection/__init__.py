"""Projections: flat tables as SQL over a nested dataset."""
