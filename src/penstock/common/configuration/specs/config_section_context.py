"""The sections of lookups, by dlt's import path."""

from penstock.compat.container import ConfigSectionContext

__all__ = ["ConfigSectionContext"]
