"""The file system of a listing, by dlt's import path."""

from penstock.sources.filesystem.dlt_source import fsspec_from_resource

__all__ = ["fsspec_from_resource"]
