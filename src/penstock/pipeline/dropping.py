"""The way out of packages that wait: those that are not sealed are deleted, a sealed one is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.load.takeback import give_up, is_begun, take_back
from penstock.pipeline.site import Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.package.lease import Lease
    from penstock.pipeline.target import Target
    from penstock.pipeline.waiting import WaitingRoom

_LOG = logger("penstock.pipeline")


def drop_pending(
    target: Target, waiting: WaitingRoom, *, spark: SparkSession | None, with_partial_loads: bool
) -> None:
    """Drop what waits at the destination and before it. Spark is started only to take tables back."""
    site = Site(target, spark=spark)
    try:
        with site.lease() as lease, site.client:
            waiting.drop(times=site.habits.lease_times)
            site.packages.drop_unsealed()
            _drop_sealed(site, lease, with_partial_loads=with_partial_loads)
    finally:
        site.close()


def _drop_sealed(site: Site, lease: Lease, *, with_partial_loads: bool) -> None:
    aborted = site.packages.to_take_back()
    if aborted is not None:
        manifest, outcome = aborted
        take_back(manifest, outcome, site.into(manifest, lease))
    sealed = site.packages.to_roll_forward()
    if sealed is None or site.is_committed(sealed):
        return  # one that is complete does not wait; the next run tidies up after it
    if not with_partial_loads and is_begun(site.packages.package(sealed.load_id)):
        _LOG.warning("load %s is kept: its tables may have some of its rows already", sealed.load_id)
        return
    give_up(sealed, site.into(sealed, lease))
