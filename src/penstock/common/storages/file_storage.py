"""The folder of control files, by dlt's import path."""

from penstock.package import FileStorage

__all__ = ["FileStorage"]
