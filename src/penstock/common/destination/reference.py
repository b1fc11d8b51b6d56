"""The reference page `common.destination.reference`, by its import path.

>>> from penstock.common.destination.reference import DestinationClientDwhConfiguration
>>> DestinationClientDwhConfiguration(dataset_name="lake").dataset_name
'lake'
"""

from penstock.common.destination.capabilities import DestinationCapabilitiesContext, TLoaderFileFormat
from penstock.common.destination.client import (
    DestinationClientConfiguration,
    DestinationClientDwhConfiguration,
    DestinationClientDwhWithStagingConfiguration,
    DestinationClientStagingConfiguration,
    FollowupJob,
    JobClientBase,
    LoadJob,
    NewLoadJob,
    StateInfo,
    StorageSchemaInfo,
    TLoadJobState,
    WithStagingDataset,
    WithStateSync,
)
from penstock.interfaces import Destination, DestinationReference

__all__ = [
    "Destination",
    "DestinationCapabilitiesContext",
    "DestinationClientConfiguration",
    "DestinationClientDwhConfiguration",
    "DestinationClientDwhWithStagingConfiguration",
    "DestinationClientStagingConfiguration",
    "DestinationReference",
    "FollowupJob",
    "JobClientBase",
    "LoadJob",
    "NewLoadJob",
    "StateInfo",
    "StorageSchemaInfo",
    "TLoadJobState",
    "TLoaderFileFormat",
    "WithStagingDataset",
    "WithStateSync",
]
