"""Load packages: one folder per load, with control files, job files and data.

Input:   names, counts and schemas from the stages.
Output:  packages that any process can resume.
Imports: spark (paths), interfaces, schema, errors.
"""

from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package.folder import DataFolder
from penstock.package.ids import create_load_id
from penstock.package.info import LoadJobInfo, LoadPackageInfo
from penstock.package.job_file import JobFile, JobPart, read_job
from penstock.package.layout import (
    TJobState,
    TLoadPackage,
    TLoadPackageState,
    TLoadPackageStatus,
    TVersionedState,
)
from penstock.package.loader_files import LoaderFiles, read_loader_files
from penstock.package.manifest import Manifest, TableEntry, UndoneLoads
from penstock.package.package import Package, package_context
from penstock.package.package_storage import PackageStorage
from penstock.package.packages import Packages, Retention
from penstock.package.projection.model import OutputColumn, Projection
from penstock.package.slots import sealed_manifest
from penstock.package.state import (
    clear_destination_state,
    commit_load_package_state,
    destination_state,
    load_package,
)
from penstock.package.storage import FileStorage

__all__ = [
    "DataFolder",
    "FileStorage",
    "JobFile",
    "JobPart",
    "LoadJobInfo",
    "LoadPackageInfo",
    "LoaderFiles",
    "Manifest",
    "OutputColumn",
    "Package",
    "PackageStorage",
    "Packages",
    "ParsedLoadJobFileName",
    "Projection",
    "Retention",
    "TJobState",
    "TLoadPackage",
    "TLoadPackageState",
    "TLoadPackageStatus",
    "TVersionedState",
    "TableEntry",
    "UndoneLoads",
    "clear_destination_state",
    "commit_load_package_state",
    "create_load_id",
    "destination_state",
    "load_package",
    "package_context",
    "read_job",
    "read_loader_files",
    "sealed_manifest",
]
