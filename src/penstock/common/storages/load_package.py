"""The reference page `common.storages.load_package`, by its import path.

>>> from penstock.common.storages.load_package import ParsedLoadJobFileName
>>> ParsedLoadJobFileName.parse("orders.0123456789.0.reference").with_retry().file_name()
'orders.0123456789.1.reference'
"""

from penstock.compat.types import DictStrAny
from penstock.package import (
    FileStorage,
    LoadJobInfo,
    LoadPackageInfo,
    PackageStorage,
    ParsedLoadJobFileName,
    TJobState,
    TLoadPackage,
    TLoadPackageState,
    TLoadPackageStatus,
    TVersionedState,
    clear_destination_state,
    commit_load_package_state,
    create_load_id,
    destination_state,
    load_package,
)

__all__ = [
    "DictStrAny",
    "FileStorage",
    "LoadJobInfo",
    "LoadPackageInfo",
    "PackageStorage",
    "ParsedLoadJobFileName",
    "TJobState",
    "TLoadPackage",
    "TLoadPackageState",
    "TLoadPackageStatus",
    "TVersionedState",
    "clear_destination_state",
    "commit_load_package_state",
    "create_load_id",
    "destination_state",
    "load_package",
]
