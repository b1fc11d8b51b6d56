"""The way out of packages that wait: those that are not sealed are deleted, a sealed one is taken back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.load.takeback import give_up, is_begun, take_back, to_take_back
from penstock.pipeline.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from penstock.load.run import Into
    from penstock.package import Manifest
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
            _go_on_taking_back(site, lease)
            sealed = _to_give_up(site, with_partial_loads=with_partial_loads)
            # Asked before anything is deleted: where the load cannot be given up, nothing is dropped.
            giving_up = None if sealed is None else _asked(sealed, site.into(sealed, lease))
            # What is not sealed goes on from the sealed load, so it must not be there without that one.
            waiting.drop(times=site.habits.lease_times)
            site.packages.drop_unsealed()
            if giving_up is not None:
                giving_up()
    finally:
        site.close()


def _go_on_taking_back(site: Site, lease: Lease) -> None:
    """Bring back the tables of a load that was given up by a process that died."""
    aborted = site.packages.to_take_back()
    if aborted is not None:
        manifest, outcome = aborted
        take_back(manifest, outcome, site.into(manifest, lease))


def _asked(sealed: Manifest, into: Into) -> Callable[[], None]:
    """What gives a load up, once its tables were asked whether that can be done."""
    return partial(give_up, sealed, into, to_take_back(sealed, into))


def _to_give_up(site: Site, *, with_partial_loads: bool) -> Manifest | None:
    """The sealed load that waits, if it is to be dropped."""
    sealed = site.packages.to_roll_forward()
    if sealed is None or site.is_committed(sealed):
        return None  # one that is complete does not wait; the next run tidies up after it
    if not with_partial_loads and is_begun(site.packages.package(sealed.load_id)):
        _LOG.warning("load %s is kept: its tables may have some of its rows already", sealed.load_id)
        return None
    return sealed
