"""The destination, the packages and the ledger that a load works on."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from penstock.interfaces.progress import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.interfaces import (
        Destination,
        DestinationClientConfiguration,
        JobClientBase,
        Ledger,
        LoadMark,
    )
    from penstock.package import Manifest, Packages, Retention
    from penstock.schema import Schema


class SessionProvider(Protocol):
    """Lends Spark sessions, as `SessionsOnDemand` does."""

    def session(self) -> AbstractContextManager[SparkSession]:
        """Borrow a session for a block."""

    def deferred_session(self) -> AbstractContextManager[SparkSession]:
        """Offer a session for a block, which is borrowed when it is first used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTarget:
    """The target of one load: an opened destination, and the packages and the ledger that record it."""

    destination: Destination
    config: DestinationClientConfiguration
    schema: Schema
    """The schema as the jobs of the load see it."""
    sessions: SessionProvider
    ledger: Ledger
    packages: Packages
    assert_leased: Callable[[], None]
    """Raises when another run has taken over; called before every durable change."""
    retention: Retention
    mark: LoadMark | None = None
    """The mark of the load, for clients."""
    collector: Collector = field(default_factory=Collector)
    on_committed: Callable[[Manifest], None] = lambda manifest: None
    """Called for a committed load before its package is finished, so it is called again after a crash."""

    describe_jobs: Callable[[str], AbstractContextManager[None]] = lambda table: nullcontext()
    """Names a table in Spark's UI, for jobs that a thread starts in a block."""

    @contextmanager
    def client(self, schema: Schema | None = None) -> Iterator[JobClientBase]:
        """Open a client with a session, for the length of a block."""
        sessions, is_deferred = self.sessions, self.config.loads_without_spark
        with (
            sessions.deferred_session() if is_deferred else sessions.session() as spark,
            self.destination.client(schema or self.schema, self.config, spark=spark) as client,
        ):
            client.load_mark = self.mark
            yield client
