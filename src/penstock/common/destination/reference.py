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
from penstock.config import BaseConfiguration, configspec
from penstock.interfaces import Destination, DestinationReference
from penstock.schema import Schema, TSchemaTables, TTableSchema, TWriteDisposition

__all__ = [
    "BaseConfiguration",
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
    "Schema",
    "StateInfo",
    "StorageSchemaInfo",
    "TLoadJobState",
    "TLoaderFileFormat",
    "TSchemaTables",
    "TTableSchema",
    "TWriteDisposition",
    "WithStagingDataset",
    "WithStateSync",
    "configspec",
]
