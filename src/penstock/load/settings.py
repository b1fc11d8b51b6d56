"""How a load is run: the `[load]` section of the settings."""

from __future__ import annotations

from penstock.config import BaseConfiguration, configspec


@configspec
class LoaderConfiguration(BaseConfiguration):
    """How many jobs run side by side, and what happens to those that do not succeed.

    >>> LoaderConfiguration().raise_on_failed_jobs
    True
    """

    workers: int = 4
    """Jobs that run side by side, each in a Spark session of its own."""
    raise_on_failed_jobs: bool = True
    """True: a failed job keeps the whole load back. False: its chain of tables is left out."""
    raise_on_max_retries: int = 5
    """A job that is tried this many times stops the run; the next run goes on with it."""
    retry_pause: float = 0.5
    """Seconds before a job is tried again; twice as many each time, up to ten."""
    poll_pause: float = 0.2
    """Seconds between two looks at a job that another system works on."""
