"""Configurations, clients and jobs of destinations, by the import path of dlt."""

from penstock.interfaces import (
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

__all__ = [
    "DestinationClientConfiguration",
    "DestinationClientDwhConfiguration",
    "DestinationClientDwhWithStagingConfiguration",
    "DestinationClientStagingConfiguration",
    "FollowupJob",
    "JobClientBase",
    "LoadJob",
    "NewLoadJob",
    "StateInfo",
    "StorageSchemaInfo",
    "TLoadJobState",
    "WithStagingDataset",
    "WithStateSync",
]
