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
    """Refuse another folder for packages than that of the last run while a load there is unfinished.

    A change is accepted if every sealed load in the old folder is complete or aborted and nothing is pending
    there, or by the setting `run.accept_package_root`. With `record` the new folder is recorded at the
    destination, and a note for the result is returned: a call that does not load changes nothing there.
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
    """Return what may be unfinished in the recorded folder; None if nothing is."""
    packages = Packages.at(recorded, credentials=workspace.target.config.storage_credentials)
    try:
        # In this order: a package that is sealed meanwhile is the last one.
        pending, last_sealed = packages.unsealed_packages(), packages.last_sealed()
        is_finished = last_sealed is None or packages.package(last_sealed.load_id).final_status() is not None
        has_files = bool(packages.store.names(""))
    except (OSError, PenstockError, ValueError) as error:
        return f"that folder cannot be read: {redact(str(error))}"
    if last_sealed is not None and not is_finished and not workspace.is_committed(last_sealed):
        return f"load {last_sealed.load_id} is not finished there"
    if pending:
        return f"{len(pending)} packages are pending there, {pending[0].load_id} among them"
    return None if has_files or _may_be_empty(workspace, recorded) else "nothing is found there"


def _may_be_empty(workspace: Workspace, recorded: str) -> bool:
    """Return whether the recorded folder may be empty: never used, or moved to the new one."""
    client, name = workspace.client, workspace.target.pipeline.pipeline_name
    if isinstance(client, WithPackageStorage) and _is_same_root(recorded, client.package_root(name)):
        return True
    sealed, committed = workspace.packages.last_sealed(), workspace.ledger.last_commit(name)
    return sealed is not None and (committed is None or sealed.sequence >= (committed.sequence or 0))


def _is_same_root(root: str, other: str) -> bool:
    return spark_path(root) == spark_path(other)


def _displayable_root(root: str) -> str:
    """Return an address without secrets; that of a local folder is absolute."""
    path = local_path(root)
    return redact(root if path is None else str(path.absolute()))
