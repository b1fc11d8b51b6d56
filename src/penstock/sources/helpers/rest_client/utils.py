"""Functions for URLs, by dlt's import path."""

from penstock.sources.rest.urls import join_url

__all__ = [
    "join_url",
]
