"""Checks that the packages of a pipeline are where its last run stored them.

A package that is left behind in another folder may be half applied: a run that does not see it would use its
sequence number again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.config import redact
from penstock.errors import PackageRootChanged, PenstockError
from penstock.interfaces import WithPackageStorage
from penstock.package import Packages
from penstock.spark.paths import local_path, spark_path

if TYPE_CHECKING:
    from penstock.pipeline.workspace import Workspace


def check_package_root(workspace: Workspace, *, record: bool) -> str | None:
    """Refuse another place for packages than that of the last run while something is unfinished there.

    A change is accepted when everything that was sealed in the old place is complete or aborted and nothing
    waits there, or when the settings say so. With `record` the new place is recorded, and the note says so:
    what does not load leaves the destination as it is.
    """
    client, name = workspace.client, workspace.target.pipeline.pipeline_name
    if not isinstance(client, WithPackageStorage):
        return None
    given = _displayable_root(workspace.packages.store.root)
    while (recorded := client.recorded_root(name)) and not _is_same_root(recorded, given):
        reason = (
            None if workspace.run_settings.accept_package_root else _reason_to_refuse(workspace, recorded)
        )
        if reason is not None:
            raise PackageRootChanged(pipeline=name, recorded=recorded, given=given, reason=reason)
        if not record:
            return None
        if client.record_root(name, given):
            return f"packages are in {given} now, and were in {recorded}"
    return None


def _reason_to_refuse(workspace: Workspace, recorded: str) -> str | None:
    """What may be unfinished in the place where packages were; None where nothing is."""
    packages = Packages.at(recorded, credentials=workspace.target.config.storage_credentials)
    try:
        last, waiting = packages.last_sealed(), packages.unsealed_packages()
        is_finished = last is None or packages.package(last.load_id).final_status() is not None
        is_found = bool(packages.store.names(""))
    except (OSError, PenstockError, ValueError) as error:
        return f"that place cannot be read: {redact(str(error))}"
    if last is not None and not is_finished and not workspace.is_committed(last):
        return f"load {last.load_id} is not finished there"
    if waiting:
        return f"{len(waiting)} packages wait there, {waiting[0].load_id} among them"
    return None if is_found or _may_be_empty(workspace, recorded) else "nothing is found there"


def _may_be_empty(workspace: Workspace, recorded: str) -> bool:
    """Whether it is right that nothing is where packages were: never used, or moved to the new place."""
    client, name = workspace.client, workspace.target.pipeline.pipeline_name
    if isinstance(client, WithPackageStorage) and _is_same_root(recorded, client.package_root(name)):
        return True
    sealed, committed = workspace.packages.last_sealed(), workspace.ledger.last_commit(name)
    return sealed is not None and (committed is None or sealed.sequence >= (committed.sequence or 0))


def _is_same_root(root: str, other: str) -> bool:
    return spark_path(root) == spark_path(other)


def _displayable_root(root: str) -> str:
    """An address without secrets; that of a folder on this machine is absolute."""
    path = local_path(root)
    return redact(root if path is None else str(path.absolute()))
