"""Items of files, by dlt's import path."""

from penstock.sources.filesystem import FileItem, FileItemDict

__all__ = ["FileItem", "FileItemDict"]
