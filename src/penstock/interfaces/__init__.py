"""What a source and a destination must be able to do.

Takes:   schemas and settings.
Gives:   the records and protocols by which the stages meet: resources, destinations, jobs, the ledger.
Touches: schema, config, errors.
"""

from penstock.interfaces.capabilities import Capabilities
from penstock.interfaces.destination import (
    AppliedJob,
    DestinationClient,
    DestinationSpec,
    LoadMark,
    TableJob,
)
from penstock.interfaces.ledger import CommitRecord, Ledger, StoredSchemaRow, StoredState
from penstock.interfaces.reference import Destination
from penstock.interfaces.registry import destination_names, find_destination
from penstock.interfaces.source import Flow, Limit, Step, Stream

__all__ = [
    "AppliedJob",
    "Capabilities",
    "CommitRecord",
    "Destination",
    "DestinationClient",
    "DestinationSpec",
    "Flow",
    "Ledger",
    "Limit",
    "LoadMark",
    "Step",
    "StoredSchemaRow",
    "StoredState",
    "Stream",
    "TableJob",
    "destination_names",
    "find_destination",
]
