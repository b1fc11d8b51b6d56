"""Where a run works: the destination, the packages and the ledger of a pipeline, and its sessions."""

from __future__ import annotations

import uuid
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from penstock.config import BaseConfiguration, logger, resolve_configuration
from penstock.interfaces.run_context import override_context
from penstock.load.plan import next_sequence
from penstock.load.refresh import schema_for_jobs
from penstock.load.run import LoadTarget
from penstock.load.worker import ClientFactory
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.places import ledger_of, open_pool, package_root
from penstock.pipeline.resource_sessions import ResourceSessions
from penstock.pipeline.restore import restore, snapshot_after_pending
from penstock.pipeline.settings import RunConfiguration
from penstock.pipeline.state_changes import discard_applied_changes
from penstock.schema import Schema
from penstock.schema.frozen_map import thaw
from penstock.spark.session import existing_session, is_connect, is_remote, target_master
from penstock.spark.watch import SparkWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.interfaces import Flow, JobClientBase
    from penstock.package import Manifest
    from penstock.package.lease import Lease
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.target import Target
    from penstock.schema import NamingConvention
    from penstock.spark.session_pool import SessionPool

_LOG = logger("penstock.pipeline")
Spec = TypeVar("Spec", bound=BaseConfiguration)


class Workspace:
    """One pipeline at its destination. Nothing of Spark is started before a session is asked for."""

    def __init__(self, target: Target, *, spark: SparkSession | None) -> None:
        self.target, self._spark = target, spark
        self.client = target.client()
        root = package_root(target, self.client, master=target_master(spark, target.settings))
        self.packages = Packages.at(root, credentials=target.config.storage_credentials)
        self.ledger = ledger_of(self.client, self.packages.store)
        self.run_settings = target.runtime or self.resolve_settings(RunConfiguration, "run")
        self._needs: tuple[str, ...] = ()
        self._lease_notes: list[str] = []
        collector = target.collector
        self.watch = SparkWatch(
            uuid.uuid4().hex[:12], on_stages=collector.stages if collector.shows_stages else None
        )

    @cached_property
    def pool(self) -> SessionPool:
        """Made when Spark is first needed: extraction alone may do without."""
        return self._open_pool({}, watch=self.watch)

    @cached_property
    def resource_sessions(self) -> ResourceSessions:
        """Sessions for resources that make DataFrames."""
        return ResourceSessions(self._open_pool, self.watch)

    def _open_pool(self, conf: Mapping[str, str], *, watch: SparkWatch | None = None) -> SessionPool:
        root = self.packages.store.root
        _, pool = open_pool(self.target, root, spark=self._spark, needs=self._needs, conf=conf, watch=watch)
        return pool

    def set_session_needs(self, flows: Iterable[Flow]) -> None:
        """Have a session that is built bring what these flows need; one that is there is taken as it is."""
        self._needs = tuple(dict.fromkeys(need for flow in flows for need in flow.needs))

    @property
    def notes(self) -> list[str]:
        """What sessions of our own could not be told, and what runs that were late have left."""
        return [*self._lease_notes, *(self.pool.notes if "pool" in self.__dict__ else ())]

    @property
    def is_remote(self) -> bool:
        """Whether Spark is reached as a client of a server."""
        return is_remote(self._spark, self.target.settings)

    def session(self) -> AbstractContextManager[SparkSession]:
        """A session of our own, for the time of a block."""
        return self.pool.session()

    @contextmanager
    def offer_sessions(self) -> Iterator[None]:
        """Offer sessions to resources in a block, and see what is done with them and the user's own."""
        session = existing_session(self._spark)
        with (
            nullcontext() if session is None else self.watch.track(session),
            override_context(lend_session=self.resource_sessions.session, track_session=self._track_session),
        ):
            yield

    def _track_session(self, session: SparkSession) -> AbstractContextManager[None]:
        """Classic Spark tells jobs apart by the thread that asks for them."""
        return nullcontext() if is_connect(session) else self.watch.track(session)

    def interrupt(self) -> None:
        """Stop what runs for this run; it is asked for where something else has gone wrong."""
        try:
            for made in (self.__dict__.get("pool"), self.__dict__.get("resource_sessions"), self.watch):
                if made is not None:
                    made.interrupt()
        except Exception as error:  # Spark may be gone, or be about to go
            _LOG.debug("jobs of Spark are not interrupted: %s", error)

    def close(self) -> None:
        """Let go of the sessions, if any were made."""
        self.watch.close()
        if "resource_sessions" in self.__dict__:
            self.resource_sessions.close()
        if "pool" in self.__dict__:
            self.pool.close()

    @contextmanager
    def lease(self, on_lost: Callable[[], None] | None = None) -> Iterator[Lease]:
        """The right to work here, for the time of a block."""
        with self.packages.lease(
            pipeline=self.target.pipeline_name, times=self.run_settings.lease_times, on_lost=on_lost
        ) as lease:
            try:
                yield lease
            finally:
                self._lease_notes += lease.notes

    def snapshot(self, schema_name: str | None = None) -> PipelineSnapshot:
        """What the pipeline knows after its last complete load."""
        return restore(self.ledger, self.client, self.target, schema_name=schema_name)

    def snapshot_after_pending(
        self, schema_name: str | None = None, unbound: Packages | None = None
    ) -> PipelineSnapshot:
        """What the pipeline will know once everything is loaded that waits, in `room` too."""
        return snapshot_after_pending(self.snapshot(schema_name), self.packages, unbound)

    def next_sequence(self) -> int:
        """Return the number of the next load: after every one that a slot or the ledger has.

        Slots may be behind the ledger where their folder was lost or restored from an older copy.
        """
        committed = self.ledger.last_commit(self.target.pipeline_name)
        return next_sequence(self.packages.slots.last(), committed.sequence if committed else None)

    def is_committed(self, manifest: Manifest) -> bool:
        """Whether the destination has the whole of a load."""
        found = self.ledger.find_commit(schema_name=manifest.schema_name, load_id=manifest.load_id)
        return found is not None

    def load_target(self, manifest: Manifest, lease: Lease) -> LoadTarget:
        """Where a sealed load goes, for as long as the lease is held."""
        opener = ClientFactory(
            destination=self.target.destination,
            config=self.target.config,
            schema=schema_for_jobs(manifest, recreates=self.target.destination.capabilities.renews_tables),
            pool=self.pool,
        )
        return LoadTarget(
            client_factory=opener,
            ledger=self.ledger,
            packages=self.packages,
            assert_leased=lease.check,
            retention=self.run_settings.retention,
            collector=self.target.collector,
            on_committed=self._save_local_copies,
        )

    def _save_local_copies(self, manifest: Manifest) -> None:
        """Keep copies of what a load came to; where these are not the state, a full disk stops nobody."""
        try:
            self._write_local_copies(manifest)
        except OSError as error:
            if not self.target.restore_from_destination:
                raise
            _LOG.warning("what load %s came to is not kept on this machine: %s", manifest.load_id, error)

    def _write_local_copies(self, manifest: Manifest) -> None:
        """Keep copies on this machine, and write the schema for people to read."""
        workdir, schema = self.target.workdir, dict(manifest.schema)
        extracted = ExtractManifest.from_dict(self.packages.package(manifest.load_id).read_extracted())
        discard_applied_changes(workdir, self.target.dataset_name, thaw(manifest.state), extracted)
        workdir.save(state=manifest.state, schema=schema)
        self.target.schema_files.export(Schema.from_dict(schema))

    def open_client(self, schema: Schema, session: SparkSession) -> JobClientBase:
        """A client that can write; open it with `with`."""
        return self.target.destination.client(schema, self.target.config, spark=session)

    def naming(self, schema: Schema) -> NamingConvention:
        """The names of a schema, as long as the destination bears."""
        able = self.target.destination.capabilities
        return schema.naming.with_max_length(
            min(able.max_identifier_length, able.max_column_identifier_length)
        )

    def resolve_settings(self, spec: type[Spec], section: str) -> Spec:
        """The settings of a section, as this pipeline has them."""
        return resolve_configuration(
            spec,
            settings=self.target.settings,
            sections=(section,),
            pipeline_name=self.target.pipeline_name,
        )
