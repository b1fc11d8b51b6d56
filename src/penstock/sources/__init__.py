"""Where the water enters: sources, resources and transformers are declared here.

Takes:   functions, generators, data and frames of users.
Gives:   declarations that do nothing until they are read, and the flows that extract reads.
Touches: interfaces, schema, config, errors.
"""

from penstock.sources.factory import SourceFactory
from penstock.sources.given import flows_of
from penstock.sources.resource import Resource
from penstock.sources.source import Source

DltResource = Resource
DltSource = Source

__all__ = [
    "DltResource",
    "DltSource",
    "Resource",
    "Source",
    "SourceFactory",
    "flows_of",
]
