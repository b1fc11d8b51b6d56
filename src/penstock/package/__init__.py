"""The pipe between the rooms: one folder per load, with control files, job files and data.

Takes:   names, counts and schemas from the stages.
Gives:   packages that any process can pick up where another left them.
Touches: spark (paths), interfaces, schema, errors.
"""

from penstock.interfaces.jobs import ParsedLoadJobFileName
from penstock.package.ids import create_load_id
from penstock.package.job import JobFile, read_job
from penstock.package.manifest import Manifest, TableEntry
from penstock.package.package import Package, Packages, PackageStatus
from penstock.package.projection import ListStep, OutputColumn, Projection
from penstock.package.store import Store

__all__ = [
    "JobFile",
    "ListStep",
    "Manifest",
    "OutputColumn",
    "Package",
    "PackageStatus",
    "Packages",
    "ParsedLoadJobFileName",
    "Projection",
    "Store",
    "TableEntry",
    "create_load_id",
    "read_job",
]
