"""The settings of runs: the section `[run]`."""

from __future__ import annotations

from typing import Literal

from penstock.config import BaseConfiguration, configspec
from penstock.package import Retention
from penstock.package.lease import LeaseTimes


@configspec
class RunConfiguration(BaseConfiguration):
    """Retention, lease and pending packages of runs.

    >>> RunConfiguration().retention.data
    False
    """

    keep_data: bool = False
    """Whether the data files of loaded packages are kept."""
    keep_packages: int | None = 100
    """The number of loaded packages whose control files are kept; None for all."""
    lease_beat: float = 5.0
    """Seconds between two heartbeats of the lease."""
    lease_alive: float = 30.0
    """Seconds without a heartbeat after which another machine may take over the lease."""
    accept_package_root: bool = False
    """Whether packages may be stored in another folder although a load may be unfinished in the old one."""
    keep_outdated_packages: bool = False
    """Whether packages that were extracted here without a destination are kept, and loaded, although the
    destination has a newer state: they may have rows that another machine has loaded too."""
    pending: Literal["continue", "exit"] = "exit"
    """`exit`: a run that finds pending packages loads them only. `continue`: it then loads its data too."""

    @property
    def retention(self) -> Retention:
        """The retention of loaded packages."""
        return Retention(data=self.keep_data, packages=self.keep_packages)

    @property
    def lease_times(self) -> LeaseTimes:
        """The heartbeat and expiry of the lease."""
        return LeaseTimes(beat=self.lease_beat, alive=self.lease_alive)
