"""Destinations, by the import path of the reference page."""

from penstock.interfaces import Destination, DestinationCapabilitiesContext, TLoaderFileFormat

__all__ = ["Destination", "DestinationCapabilitiesContext", "TLoaderFileFormat"]
