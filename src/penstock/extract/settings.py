"""How extraction is done: the `[extract]` section of the settings."""

from __future__ import annotations

from typing import Literal

from penstock.config import BaseConfiguration, configspec
from penstock.extract.plan import Workload


@configspec
class ExtractConfiguration(BaseConfiguration):
    """How much is read at the same time, and what happens to rows and resources that cannot be read.

    >>> ExtractConfiguration(workers=2).workload.workers
    2
    """

    workers: int = 5
    """Threads for deferred calls and parallel resources."""
    max_parallel_items: int = 20
    """Calls, steps of generators and coroutines under way at most."""
    next_item_mode: Literal["round_robin", "fifo"] = "round_robin"
    """One item of each resource in turn, or one resource after the other."""
    on_bad_row: Literal["quarantine", "fail"] = "quarantine"
    """A row that cannot be written is put aside in `_dlt_quarantine`, or ends the run."""
    work_items: Literal["executors", "driver"] = "executors"
    """Where resources with work items run: `driver` where executors have no network."""
    wave_seconds: float = 40.0
    """How long a wave of work items takes, about: a run that dies repeats one at most."""
    slots: int | None = None
    """How many work items executors do at the same time; Spark is asked where it is not said."""

    on_error: Literal["raise", "continue"] = "raise"
    """A resource that raises ends the run, or the others go on and it is left out of this load."""
    package_storage: str | None = None
    """Where packages wait that are extracted without a destination; the working folder by default."""
    through_session: bool | Literal["auto"] = "auto"
    """Files of rows go through the Spark session: always, never, or where a client of Spark Connect cannot
    write to the storage of packages."""
    commit_interval: float | None = None
    """Seconds after which what was extracted so far is loaded, while extraction goes on; None for the end."""

    @property
    def workload(self) -> Workload:
        """The same as a value."""
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
