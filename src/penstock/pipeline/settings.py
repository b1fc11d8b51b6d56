"""How a run behaves: the `[run]` section of the settings."""

from __future__ import annotations

from typing import Literal

from penstock.config import BaseConfiguration, configspec
from penstock.package import Retention
from penstock.package.lease import LeaseTimes


@configspec
class RunConfiguration(BaseConfiguration):
    """What a run keeps, and how it shows that it lives.

    >>> RunConfiguration().retention.data
    False
    """

    keep_data: bool = False
    """Whether the data files of loaded packages stay."""
    keep_packages: int | None = 100
    """How many loaded packages keep their control files; None for all."""
    lease_beat: float = 5.0
    """Seconds between two signs of life."""
    lease_alive: float = 30.0
    """Seconds without a sign of life after which another machine may think this run dead."""
    accept_package_root: bool = False
    """Whether packages may be kept elsewhere than before although loads may be unfinished there."""
    pending: Literal["continue", "exit"] = "continue"
    """After packages that waited `run` goes on with its data, or leaves that for the next call."""

    @property
    def retention(self) -> Retention:
        """What is kept of loaded packages."""
        return Retention(data=self.keep_data, packages=self.keep_packages)

    @property
    def lease_times(self) -> LeaseTimes:
        """How the lease is held."""
        return LeaseTimes(beat=self.lease_beat, alive=self.lease_alive)
