"""dlt's import paths for helpers of sources: re-exports, and no code."""

from penstock.sources.helpers import requests

__all__ = [
    "requests",
]
