"""The files, folders and states of a package."""

from __future__ import annotations

import re
from typing import Any, Literal, TypedDict, get_args

from penstock.errors import UnsafePath

TLoadPackageStatus = Literal["new", "extracted", "normalized", "planned", "loaded", "aborted"]
"""The status of a package; a planned one is not loaded before its plan is applied."""

FINISHED_STATUSES: frozenset[TLoadPackageStatus] = frozenset(("loaded", "aborted"))

TJobState = Literal["new_jobs", "failed_jobs", "started_jobs", "completed_jobs"]
"""The state of a job: the folder of its file."""

JOB_STATES: tuple[TJobState, ...] = get_args(TJobState)
NEW_JOBS, FAILED_JOBS, STARTED_JOBS, COMPLETED_JOBS = JOB_STATES

EXTRACTED_FILE, NORMALIZED_FILE, SEALED_FILE = "extracted.json", "normalized.json", "sealed.json"
COMPLETED_FILE, PLANNED_FILE = "package_completed.json", "planned.json"
SCHEMA_FILE, STATE_FILE = "schema.json", "load_package_state.json"
SCHEMA_UPDATES_FILE, APPLIED_SCHEMA_UPDATES_FILE = "schema_updates.json", "applied_schema_updates.json"
CANCELLED_FILE, EXCEPTIONS_FOLDER, RESULTS_FOLDER, DATA_FOLDER = (
    "_cancelled",
    ".exceptions",
    ".results",
    "data",
)
FOLLOWUPS_FOLDER, ATTEMPTS_FOLDER = "followups", f"{DATA_FOLDER}/normalized"
LOADER_FILES_FOLDER = "loader_files"
POSITION_COLUMN = "_penstock_at"
"""The column of flat files with the position of the root row in the package, as text, where rows are merged.

It orders rows by its bytes, and links nested rows to their root row even if two root rows have the same id.
"""

PACKAGES_FOLDER, LOADED, SLOTS_FOLDER, OUTCOMES_FOLDER, LEASE_FOLDER = (
    "packages",
    "loaded",
    "slots",
    "outcomes",
    "lease",
)

_LOAD_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")


class TVersionedState(TypedDict, total=False):
    """The version fields of a state."""

    _state_version: int
    _version_hash: str
    _state_engine_version: int


class TLoadPackageState(TVersionedState, total=False):
    """The state of one package; it is stored in the package only, never in the destination."""

    created_at: str
    """Timestamp when the load package was created"""
    destination_state: dict[str, Any]
    """Private space for destinations to store state relevant only to the load package"""


class TLoadPackage(TypedDict, total=False):
    """A package, as user code and destinations see it."""

    load_id: str
    """Load id"""
    state: TLoadPackageState
    """State of the load package"""


def is_load_id(name: str) -> bool:
    """Return whether a folder of that name can be a package."""
    return bool(_LOAD_ID.fullmatch(name)) and ".." not in name


def check_load_id(load_id: str) -> str:
    """Return the id; refuse one that cannot be the name of a folder.

    >>> check_load_id("1794700870.5798686")
    '1794700870.5798686'
    """
    if not is_load_id(load_id):
        raise UnsafePath(name=load_id[:120], reason="it cannot be a load id")
    return load_id
