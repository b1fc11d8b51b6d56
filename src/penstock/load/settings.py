"""The `[load]` section of the settings."""

from __future__ import annotations

from penstock.config import BaseConfiguration, configspec


@configspec
class LoaderConfiguration(BaseConfiguration):
    """Settings of a load: concurrency, retries and the handling of failed jobs.

    >>> LoaderConfiguration().raise_on_failed_jobs
    False
    """

    workers: int = 20
    """The most jobs that run concurrently, each in its own Spark session."""
    raise_on_failed_jobs: bool = False
    """False: the chain of tables of a failed job is left out. True: the job stops the whole load."""
    raise_on_max_retries: int = 5
    """A job that is tried this many times stops the run; the next run continues with it."""
    retry_pause: float = 0.5
    """Seconds before a job is retried; doubled each time, up to ten."""
    poll_pause: float = 0.2
    """Seconds between polls of a job that runs in another system."""
