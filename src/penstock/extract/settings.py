"""The `[extract]` section of the settings."""

from __future__ import annotations

from typing import Literal

from penstock.config import BaseConfiguration, configspec
from penstock.extract.plan import Workload


@configspec
class ExtractConfiguration(BaseConfiguration):
    """Concurrency of extraction, and the handling of rows and resources that cannot be read.

    >>> ExtractConfiguration(workers=2).workload.workers
    2
    """

    workers: int = 5
    """Threads for deferred calls and parallel resources."""
    max_parallel_items: int = 20
    """Maximum of calls, generator steps and coroutines that run at the same time."""
    next_item_mode: Literal["round_robin", "fifo"] = "round_robin"
    """One item of each resource in turn, or one resource after the other."""
    on_bad_row: Literal["quarantine", "fail"] = "quarantine"
    """A row without a JSON form is quarantined in `_dlt_quarantine`, or ends the run."""
    work_items: Literal["executors", "driver"] = "executors"
    """Processes that run resources with work items: `driver` if executors have no network."""
    wave_seconds: float = 40.0
    """Approximate duration of a wave of work items; a run that dies repeats at most one wave."""
    slots: int | None = None
    """Work items that executors process at the same time; None: Spark is queried."""

    on_error: Literal["raise", "continue"] = "raise"
    """A resource that raises ends the run, or it is excluded from the load and the others continue."""
    package_storage: str | None = None
    """Folder of packages that are extracted without a destination; default: the working folder."""
    through_session: bool | Literal["auto"] = "auto"
    """Write files of rows by the Spark session: always, never, or if a Spark Connect client cannot write to
    the storage of packages."""
    commit_interval: float | None = None
    """Seconds after which the rows so far are loaded, while extraction continues; None: at the end."""

    @property
    def workload(self) -> Workload:
        """The settings as a value."""
        return Workload(
            workers=self.workers,
            max_parallel_items=self.max_parallel_items,
            next_item_mode=self.next_item_mode,
            on_bad_row=self.on_bad_row,
            work_items=self.work_items,
            wave_seconds=self.wave_seconds,
            slots=self.slots,
            on_error=self.on_error,
        )
