"""The way out of packages that wait: those that are not sealed are deleted, a sealed one is taken back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.load.abort import abort_load, commits_to_undo, has_started, undo_commits
from penstock.pipeline.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from penstock.load.run import LoadTarget
    from penstock.package import Manifest
    from penstock.package.lease import Lease
    from penstock.pipeline.target import Target
    from penstock.pipeline.unbound_packages import UnboundPackages

_LOG = logger("penstock.pipeline")


def drop_pending(
    target: Target, unbound: UnboundPackages, *, spark: SparkSession | None, with_partial_loads: bool
) -> None:
    """Drop what waits at the destination and before it. Spark is started only to take tables back."""
    site = Workspace(target, spark=spark)
    try:
        with site.lease() as lease, site.client:
            _resume_abort(site, lease)
            sealed = _load_to_abort(site, with_partial_loads=with_partial_loads)
            # Asked before anything is deleted: where the load cannot be given up, nothing is dropped.
            giving_up = None if sealed is None else _prepare_abort(sealed, site.load_target(sealed, lease))
            # What is not sealed goes on from the sealed load, so it must not be there without that one.
            unbound.drop(lease_times=site.run_settings.lease_times)
            site.packages.drop_unsealed()
            if giving_up is not None:
                giving_up()
    finally:
        site.close()


def _resume_abort(workspace: Workspace, lease: Lease) -> None:
    """Bring back the tables of a load that was given up by a process that died."""
    aborted = workspace.packages.pending_abort()
    if aborted is not None:
        manifest, outcome = aborted
        undo_commits(manifest, outcome, workspace.load_target(manifest, lease))


def _prepare_abort(sealed: Manifest, load_target: LoadTarget) -> Callable[[], None]:
    """What gives a load up, once its tables were asked whether that can be done."""
    return partial(abort_load, sealed, load_target, commits_to_undo(sealed, load_target))


def _load_to_abort(workspace: Workspace, *, with_partial_loads: bool) -> Manifest | None:
    """The sealed load that waits, if it is to be dropped."""
    sealed = workspace.packages.pending_load()
    if sealed is None or workspace.is_committed(sealed):
        return None  # one that is complete does not wait; the next run tidies up after it
    if not with_partial_loads and has_started(workspace.packages.package(sealed.load_id)):
        _LOG.warning("load %s is kept: its tables may have some of its rows already", sealed.load_id)
        return None
    return sealed
