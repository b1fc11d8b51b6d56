"""Dropping of pending packages: those that are not sealed are deleted, a sealed load is aborted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.errors import in_stage
from penstock.load.abort import abort_load, commits_to_undo, has_started, undo_commits
from penstock.package import Packages
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.package import Manifest
    from penstock.package.lease import Lease
    from penstock.package.packages import SealedLoad
    from penstock.pipeline.target import Target
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")


def drop_pending(
    target: Target,
    unbound: UnboundPackages,
    *,
    spark: SparkSession | None,
    with_partial_loads: bool,
    from_load_id: str = "",
) -> None:
    """Drop the pending packages of a pipeline, or those from an id on.

    Spark is started only to undo commits.
    """
    workspace = Workspace(target, spark=spark)
    try:
        with workspace.lease() as lease, workspace.client:
            finish_abort(workspace, lease)
            sealed = _load_to_abort(workspace, with_partial_loads=with_partial_loads)
            if sealed is not None and sealed.load_id < from_load_id:
                sealed = None
            if sealed is not None:
                load_target = workspace.load_target(sealed, lease)
                # Determined before anything is deleted: if the load cannot be aborted, nothing is dropped.
                commits = commits_to_undo(sealed, load_target)
            # Packages that are not sealed build on the sealed load, so they are deleted before it is aborted.
            unbound.drop(from_load_id)
            workspace.packages.drop_unsealed(from_load_id)
            if sealed is not None:
                abort_load(sealed, load_target, commits)
    finally:
        workspace.close()


def abort_local_loads(
    workdir: WorkDir, target: Target | None, unbound: UnboundPackages, *, spark: SparkSession | None
) -> None:
    """Roll back the loads that have begun and whose packages are in the working folder.

    The rows of a load of another destination or dataset, which cannot be reached from here, are logged. Raise
    while a run holds the packages.
    """
    root = None if target is None else Workspace(target, spark=spark).packages.store.root
    for folder in workdir.load_folders:
        if target is not None and str(folder) == root:
            drop_pending(target, unbound, spark=spark, with_partial_loads=True)
            continue
        packages = Packages.at(str(folder))
        with packages.lease(pipeline=workdir.path.name, times=unbound.lease_times):
            sealed = packages.pending_load()
            if sealed is not None and has_started(packages.package(sealed.load_id)):
                _LOG.warning("load %s is dropped: its tables may have some of its rows", sealed.load_id)


def finish_abort(workspace: Workspace, lease: Lease) -> SealedLoad | None:
    """Undo the remaining commits of a load whose abort was decided by a process that died.

    Return the last sealed load, as it was before; None if no load was ever sealed.
    """
    last = workspace.packages.last_load()
    if last is not None and last.abort is not None:
        with in_stage("load", load_id=last.manifest.load_id):
            undo_commits(last.manifest, last.abort, workspace.load_target(last.manifest, lease))
    return last


def _load_to_abort(workspace: Workspace, *, with_partial_loads: bool) -> Manifest | None:
    """Return the sealed load that is to be dropped."""
    sealed = workspace.packages.pending_load()
    if sealed is None or workspace.is_committed(sealed):
        return None  # a complete load is not pending; the next run finishes it
    if not with_partial_loads and has_started(workspace.packages.package(sealed.load_id)):
        _LOG.warning("load %s is kept: its tables may have some of its rows already", sealed.load_id)
        return None
    return sealed
