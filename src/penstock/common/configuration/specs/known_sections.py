"""The names of the sections of settings, by dlt's import path."""

from penstock.config.known_sections import DESTINATION, EXTRACT, LOAD, NORMALIZE, SOURCES

__all__ = ["DESTINATION", "EXTRACT", "LOAD", "NORMALIZE", "SOURCES"]
