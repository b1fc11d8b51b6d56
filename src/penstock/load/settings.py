"""The `[load]` section of the settings."""

from __future__ import annotations

from penstock.config import BaseConfiguration, configspec


@configspec
class LoaderConfiguration(BaseConfiguration):
    """Settings of a load: concurrency, retries and the handling of failed jobs.

    >>> LoaderConfiguration().raise_on_failed_jobs
    True
    """

    workers: int = 4
    """Jobs that run concurrently, each in its own Spark session."""
    raise_on_failed_jobs: bool = True
    """True: a failed job stops the whole load. False: its chain of tables is left out."""
    raise_on_max_retries: int = 5
    """A job that is tried this many times stops the run; the next run continues with it."""
    retry_pause: float = 0.5
    """Seconds before a job is retried; doubled each time, up to ten."""
    poll_pause: float = 0.2
    """Seconds between polls of a job that runs in another system."""
