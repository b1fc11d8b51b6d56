"""Contracts of sources and destinations.

Input:   schemas and settings.
Output:  records and base classes between the stages: resources, destinations, jobs, the ledger.
Imports: schema, config, errors.
"""

from penstock.interfaces.capabilities import (
    DataTypeMapper,
    DestinationCapabilitiesContext,
    TLoaderFileFormat,
    TLoaderMergeStrategy,
    TLoaderParallelismStrategy,
    TLoaderReplaceStrategy,
    TTableFormat,
)
from penstock.interfaces.change_counts import TableChanges, TableState, UnsealedLoad, WithChangeCounts
from penstock.interfaces.client import (
    JobClientBase,
    LoadCommit,
    PreparedTables,
    TableCommit,
    TableRestore,
    WithAtomicCommit,
    WithLedger,
    WithPackageStorage,
    WithRowUndo,
    WithSmallTables,
    WithStagingDataset,
    WithStateSync,
    WithTableDrop,
    WithTableRestore,
    WithTablesByCommit,
    WithTableVersions,
    WithUndo,
    missing_table,
    restore_refused,
)
from penstock.interfaces.configuration import (
    DestinationClientConfiguration,
    DestinationClientDwhConfiguration,
    DestinationClientDwhWithStagingConfiguration,
    DestinationClientStagingConfiguration,
)
from penstock.interfaces.destination import (
    Destination,
    DestinationReference,
    TDestinationReference,
    configured,
    destination_names,
    find_destination,
    registered_destination,
)
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.interfaces.ledger import (
    CommitRecord,
    CompleteLoad,
    Ledger,
    LoadSnapshot,
    StateInfo,
    StorageSchemaInfo,
)
from penstock.interfaces.loadjob import AppliedJob, FollowupJob, LoadJob, LoadMark, NewLoadJob, TLoadJobState
from penstock.interfaces.refresh import RENEW, Refresh, Renewal, TRefreshMode, check_refresh, renewal_of
from penstock.interfaces.source import Flow, ItemStep, Limit, Stream
from penstock.interfaces.sql_client import SqlClientBase

__all__ = [
    "RENEW",
    "AppliedJob",
    "CommitRecord",
    "CompleteLoad",
    "DataTypeMapper",
    "Destination",
    "DestinationCapabilitiesContext",
    "DestinationClientConfiguration",
    "DestinationClientDwhConfiguration",
    "DestinationClientDwhWithStagingConfiguration",
    "DestinationClientStagingConfiguration",
    "DestinationReference",
    "Flow",
    "FollowupJob",
    "ItemStep",
    "JobClientBase",
    "Ledger",
    "Limit",
    "LoadCommit",
    "LoadJob",
    "LoadMark",
    "LoadSnapshot",
    "NewLoadJob",
    "ParsedLoadJobFileName",
    "PreparedTables",
    "Refresh",
    "Renewal",
    "SqlClientBase",
    "StateInfo",
    "StorageSchemaInfo",
    "Stream",
    "TDestinationReference",
    "TLoadJobState",
    "TLoaderFileFormat",
    "TLoaderMergeStrategy",
    "TLoaderParallelismStrategy",
    "TLoaderReplaceStrategy",
    "TRefreshMode",
    "TTableFormat",
    "TableChanges",
    "TableCommit",
    "TableRestore",
    "TableState",
    "UnsealedLoad",
    "WithAtomicCommit",
    "WithChangeCounts",
    "WithLedger",
    "WithPackageStorage",
    "WithRowUndo",
    "WithSmallTables",
    "WithStagingDataset",
    "WithStateSync",
    "WithTableDrop",
    "WithTableRestore",
    "WithTableVersions",
    "WithTablesByCommit",
    "WithUndo",
    "check_refresh",
    "configured",
    "destination_names",
    "find_destination",
    "missing_table",
    "registered_destination",
    "renewal_of",
    "restore_refused",
]
