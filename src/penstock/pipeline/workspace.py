"""A pipeline at its destination: the client, the packages, the ledger and the Spark sessions."""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.config import BaseConfiguration, logger, read_settings, resolve_configuration
from penstock.dataset.dataset import Dataset
from penstock.dataset.view import DatasetSource, DatasetView
from penstock.errors import StorageFull
from penstock.interfaces import WithLedger
from penstock.interfaces.run_context import current_context, override_context
from penstock.load.plan import next_sequence
from penstock.load.refresh import schema_for_jobs
from penstock.load.target import LoadTarget
from penstock.package import FileStorage, Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.file_ledger import FileLedger
from penstock.pipeline.context import names_of
from penstock.pipeline.restore import restore, snapshot_after_pending, with_destination_naming
from penstock.pipeline.settings import RunConfiguration
from penstock.pipeline.state_changes import discard_applied_changes
from penstock.pipeline.target import package_root
from penstock.schema import Schema
from penstock.schema.frozen_map import thaw
from penstock.spark.frame_writer import send_rows
from penstock.spark.s3 import s3_needs, s3a_conf_for_all
from penstock.spark.session import (
    check_session,
    existing_session,
    expected_outlook,
    find_session,
    is_connect,
    is_extension_missing,
    is_remote,
    target_master,
)
from penstock.spark.session_pool import SessionPool
from penstock.spark.sessions_on_demand import SessionsOnDemand
from penstock.spark.watch import SparkWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import DatasetSchema
    from penstock.dataset.sqlclient import DatasetSqlClient
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow, JobClientBase, Ledger
    from penstock.interfaces.deletions import LoadedTable
    from penstock.interfaces.frame_engine import RowSender
    from penstock.package import Manifest
    from penstock.package.lease import Lease
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.target import Target
    from penstock.schema import NamingConvention
    from penstock.spark.deferred_session import SessionOutlook
    from penstock.spark.session import UserSession

_LOG = logger("penstock.pipeline")
_LEDGER_FOLDER: Final = "ledger"
_PROBE_FILE: Final = "_probe"
_LEDGER_THREADS: Final = 16
Spec = TypeVar("Spec", bound=BaseConfiguration)


class Workspace:
    """One pipeline at its destination. Spark is started by the first use of a session, not before."""

    def __init__(self, target: Target, *, spark: SparkSession | None) -> None:
        self.target, self._spark = target, spark
        self.client = target.client()
        root = package_root(target, self.client, master=target_master(spark, target.settings))
        self.packages = Packages.at(root, credentials=target.config.storage_credentials)
        self.ledger = open_ledger(self.client, self.packages.store)
        self.run_settings = target.pipeline.runtime or self.resolve_settings(RunConfiguration, "run")
        self._session_needs: tuple[str, ...] = ()
        self.sessions = SessionsOnDemand(
            lambda: self._open_pool({}, watch=self.watch), outlook_of(target, spark=spark)
        )
        self._lease_notes: list[str] = []
        collector = target.pipeline.collector
        self.watch = SparkWatch(
            uuid.uuid4().hex[:12],
            pipeline_name=target.pipeline.pipeline_name,
            on_stages=collector.stages if collector.shows_stages else None,
        )

    # --- what the destination stores

    def snapshot(self, schema_name: str | None = None) -> PipelineSnapshot:
        """Return schema and state after the last complete load."""
        return restore(self.ledger, self.client, self.target, schema_name=schema_name)

    def snapshot_after_pending(
        self, schema_name: str | None = None, unbound: Packages | None = None
    ) -> PipelineSnapshot:
        """Return schema and state as they will be once all pending packages, `unbound` too, are loaded."""
        return snapshot_after_pending(self.snapshot(schema_name), self.packages, unbound)

    def next_sequence(self, last_sealed: int) -> int:
        """Return the number of the next load: after the last one in a slot, and every one in the ledger.

        Slots may be behind the ledger where their folder was lost or restored from an older copy.
        """
        committed = self.ledger.last_commit(self.target.pipeline.pipeline_name)
        return next_sequence(last_sealed, committed.sequence if committed else None)

    def is_committed(self, manifest: Manifest) -> bool:
        """Return whether a load is complete at the destination."""
        commit = self.ledger.find_commit(schema_name=manifest.schema_name, load_id=manifest.load_id)
        return commit is not None

    def completed_load_ids(self, *, besides: Container[str] = ()) -> list[str]:
        """Return the ids of all complete loads of the pipeline, without those that are known already."""
        name = self.target.pipeline.pipeline_name
        others = [load for load in self.ledger.complete_loads() if load.load_id not in besides]
        if not others:
            return []
        with ThreadPoolExecutor(_LEDGER_THREADS, thread_name_prefix="penstock-ledger") as threads:
            commits = threads.map(
                lambda load: self.ledger.find_commit(schema_name=load.schema_name, load_id=load.load_id),
                others,
            )
            return [
                commit.load_id
                for commit in commits
                if commit is not None and commit.pipeline_name == name and commit.status == 0
            ]

    def naming(self, schema: Schema) -> NamingConvention:
        """Return the naming convention of a schema, limited to the destination's longest identifier."""
        names = names_of(self.target.destination)
        return with_destination_naming(schema, names.convention).naming.with_max_length(names.max_length)

    def resolve_settings(self, spec: type[Spec], section: str) -> Spec:
        """Return the settings of a section for this pipeline."""
        return resolve_configuration(
            spec,
            settings=self.target.settings,
            sections=(section,),
            pipeline_name=self.target.pipeline.pipeline_name,
        )

    # --- loading

    @contextmanager
    def lease(self, on_lost: Callable[[], None] | None = None) -> Iterator[Lease]:
        """Hold the lease of the pipeline in a block; in it the ledger reads files that never change once."""
        ledger = self.ledger
        with self.packages.lease(
            pipeline=self.target.pipeline.pipeline_name, times=self.run_settings.lease_times, on_lost=on_lost
        ) as lease:
            if isinstance(ledger, FileLedger):
                self.ledger = ledger.with_remembered_files()
            try:
                yield lease
            finally:
                self.ledger = ledger
                self._lease_notes += lease.notes

    def remember_rows(self) -> None:
        """From now on look up the last commit and the last state of the pipeline once for each load.

        Called in the lease once the last sealed load is known: only a later one changes these rows, and the
        next seal fails if another run has sealed one.
        """
        if isinstance(self.ledger, FileLedger):
            self.ledger = self.ledger.with_remembered_rows(self.target.pipeline.pipeline_name)

    def load_target(self, manifest: Manifest, lease: Lease) -> LoadTarget:
        """Return the target of a sealed load; it is valid while the lease is held."""
        return LoadTarget(
            destination=self.target.destination,
            config=self.target.config,
            schema=schema_for_jobs(manifest, recreates=self.target.destination.capabilities().renews_tables),
            sessions=self.sessions,
            ledger=self.ledger,
            packages=self.packages,
            assert_leased=lease.check,
            retention=self.run_settings.retention,
            mark=manifest.mark,
            collector=self.target.pipeline.collector,
            on_committed=self._save_local_copies,
            describe_jobs=self.watch.describe,
        )

    def _save_local_copies(self, manifest: Manifest) -> None:
        """Save state and schema of a load; only a warning on failure if the destination is authoritative."""
        try:
            self._write_local_copies(manifest)
        except OSError as error:
            if not self.target.pipeline.restore_from_destination:
                raise
            _LOG.warning(
                "state and schema of load %s cannot be copied to this machine: %s", manifest.load_id, error
            )

    def _write_local_copies(self, manifest: Manifest) -> None:
        pipeline, schema = self.target.pipeline, dict(manifest.schema)
        if manifest.undo is None:
            extracted = ExtractManifest.from_dict(self.packages.package(manifest.load_id).read_extracted())
            discard_applied_changes(pipeline.workdir, pipeline.dataset_name, thaw(manifest.state), extracted)
        else:
            # A change by hand is based on the state that is undone.
            pipeline.workdir.save_local_changes(pipeline.dataset_name, None)
        pipeline.workdir.save(state=manifest.state, schema=schema)
        pipeline.schema_files.export(Schema.from_dict(schema))

    # --- sessions and clients

    def open_sessions(self) -> float | None:
        """Open the sessions of the run now, unless it may do without: a session may be refused.

        Return the duration in seconds if that has started Spark.
        """
        began, exists = time.monotonic(), existing_session(self._spark) is not None
        if exists or not self.target.config.loads_without_spark:
            self.sessions.opened()
        return time.monotonic() - began if self.sessions.is_open and not exists else None

    @cached_property
    def resource_sessions(self) -> ResourceSessions:
        """The sessions for resources that create DataFrames."""
        return ResourceSessions(lambda conf: self._open_pool(conf)[1], self.watch)

    def _open_pool(
        self, conf: Mapping[str, str], *, watch: SparkWatch | None = None
    ) -> tuple[UserSession, SessionPool]:
        return open_pool(
            self.target,
            self.packages.store.root,
            spark=self._spark,
            needs=self._session_needs,
            conf=conf,
            watch=watch,
            notify=self._notify,
        )

    def _notify(self, text: str) -> None:
        """Report a fact about the run to its collector, and to the log."""
        _LOG.info("%s: %s", self.target.pipeline.pipeline_name, text)
        self.target.pipeline.collector.note(text)

    def set_session_needs(self, flows: Iterable[Flow]) -> None:
        """Set what a new session must have for these flows; an existing session is used as it is."""
        self._session_needs = tuple(dict.fromkeys(need for flow in flows for need in flow.needs))

    @property
    def notes(self) -> list[str]:
        """Settings that sessions did not accept, and leftovers of late processes."""
        return [*self._lease_notes, *self.sessions.notes]

    @property
    def is_remote(self) -> bool:
        """Whether Spark is used as a client of a server."""
        return is_remote(self._spark, self.target.settings)

    def session(self) -> AbstractContextManager[SparkSession]:
        """Borrow a session of the run for a block."""
        return self.sessions.session()

    def client_session(self) -> AbstractContextManager[SparkSession]:
        """Borrow a session for a client; one that may need none gets it at its first use."""
        is_deferred = self.target.config.loads_without_spark
        return self.sessions.deferred_session() if is_deferred else self.session()

    @contextmanager
    def offer_sessions(self) -> Iterator[None]:
        """Offer sessions to resources in a block, and attribute their jobs and the user's to the run."""
        session = existing_session(self._spark)
        with (
            nullcontext() if session is None else self.watch.track(session),
            override_context(
                lend_session=self.resource_sessions.session,
                track_session=self._track_session,
                read_loaded=self._read_loaded,
            ),
        ):
            yield

    def _track_session(self, session: SparkSession) -> AbstractContextManager[None]:
        """Attribute jobs of a thread to the run; classic Spark distinguishes jobs by thread."""
        return nullcontext() if is_connect(session) else self.watch.track(session)

    def _read_loaded(self, name: str, session: SparkSession) -> LoadedTable | None:
        """Return a table of the current source as of the last complete load."""
        schema = self.snapshot(current_context().source_name).schema
        source = DatasetSource(client=self.client, ledger=self.ledger, sessions=self.sessions)
        view = DatasetView(source, name=self.target.pipeline.dataset_name, consistent=True)
        return view.loaded_table(name, schema, self.naming(schema), session=session)

    def row_sender(self, settings: ExtractConfiguration) -> RowSender | None:
        """Return the function that writes rows by a Spark session; None where this machine writes them."""
        return choose_row_sender(settings, self.packages.store, self.session, is_remote=self.is_remote)

    def open_dataset(self, *, consistent: bool) -> Dataset:
        """Return a reader of the tables."""
        return open_dataset(self.target, spark=self._spark, consistent=consistent)

    def open_client(self, schema: Schema, session: SparkSession) -> JobClientBase:
        """Return a client that can write; use it in a `with` block."""
        return self.target.destination.client(schema, self.target.config, spark=session)

    def interrupt(self) -> None:
        """Cancel the Spark jobs of the run after another failure; never raises."""
        try:
            for sessions in (self.sessions, self.__dict__.get("resource_sessions"), self.watch):
                if sessions is not None:
                    sessions.interrupt()
        except Exception as error:  # Spark may have ended, or be about to
            _LOG.debug("jobs of Spark are not interrupted: %s", error)

    def close(self) -> None:
        """Close the sessions that were opened."""
        self.watch.close()
        if "resource_sessions" in self.__dict__:
            self.resource_sessions.close()
        self.sessions.close()


class ResourceSessions:
    """Sessions for resources, one for each configuration, shared by generators and threads until the end."""

    def __init__(self, open_pool: Callable[[Mapping[str, str]], SessionPool], watch: SparkWatch) -> None:
        self._open_pool, self._watch = open_pool, watch
        self._sessions: dict[frozenset[tuple[str, str]], SparkSession] = {}
        self._pools: list[SessionPool] = []
        self._stack, self._lock = ExitStack(), threading.Lock()

    def session(self, conf: Mapping[str, str]) -> SparkSession:
        """Return the session with this configuration."""
        key = frozenset(conf.items())
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = self._open_session(conf)
            return self._sessions[key]

    def _open_session(self, conf: Mapping[str, str]) -> SparkSession:
        pool = self._open_pool(conf)
        self._pools.append(pool)
        self._stack.callback(pool.close)
        spark = self._stack.enter_context(pool.session())
        if is_connect(spark):
            # Jobs of a classic session are distinguished by the thread that writes its frames.
            self._stack.enter_context(self._watch.track(spark))
        return spark

    def interrupt(self) -> None:
        """Cancel what runs in these sessions."""
        for pool in self._pools:
            pool.interrupt()

    def close(self) -> None:
        """Close the sessions."""
        with self._lock:
            self._sessions.clear()
            self._pools.clear()
            self._stack.close()


def open_pool(
    target: Target,
    root: str,
    *,
    spark: SparkSession | None,
    needs: tuple[str, ...] = (),
    conf: Mapping[str, str] = MappingProxyType({}),
    watch: SparkWatch | None = None,
    notify: Callable[[str], None] | None = None,
) -> tuple[UserSession, SessionPool]:
    """Return the session of the user, and a pool of sessions that can open tables and packages.

    `needs` are those of sources; `conf` is set in the sessions of the pool. `notify` gets texts about a start
    of Spark.
    """
    addresses, credentials = (target.config.storage_location, root), target.config.storage_credentials
    destination_needs = (*target.destination.capabilities().spark_needs, *target.config.session_needs)
    required = tuple(dict.fromkeys((*destination_needs, *s3_needs(*addresses), *needs)))
    optional = target.config.session_wishes
    user = find_session(spark, target.settings, (*required, *optional), notify=notify)
    check_session(user, required)
    required += tuple(need for need in optional if not is_extension_missing(user.spark, need))
    session_conf = {**s3a_conf_for_all(addresses, credentials), **target.config.session_conf(), **conf}
    return user, SessionPool(user, required, session_conf, watch)


def outlook_of(target: Target, *, spark: SparkSession | None) -> Callable[[], SessionOutlook]:
    """Return a function that returns what is known of the sessions of a pipeline before they are opened."""
    return cache(lambda: expected_outlook(spark, target.settings, target.config.session_conf()))


def open_ledger(client: JobClientBase, packages: FileStorage) -> Ledger:
    """Return the ledger of the destination; where it has none, one beside the packages."""
    return (
        client.ledger() if isinstance(client, WithLedger) else FileLedger(packages.subfolder(_LEDGER_FOLDER))
    )


def choose_row_sender(
    settings: ExtractConfiguration,
    store: FileStorage,
    session: Callable[[], AbstractContextManager[SparkSession]],
    *,
    is_remote: bool,
) -> RowSender | None:
    """Return the function that writes rows by a Spark session; None where this machine can write to `store`.

    With `through_session = "auto"` clients of Spark Connect try to write. The driver of a classic session
    has the storage of its cluster.
    """
    through_session = settings.through_session
    if through_session == "auto":
        through_session = is_remote and not _can_write(store)
    if not through_session:
        return None

    def send(rows: pa.Table, address: str) -> None:
        with session() as spark:
            send_rows(rows, address, spark=spark)

    return send


def _can_write(store: FileStorage) -> bool:
    try:
        with store.open_new(_PROBE_FILE) as stream:
            stream.write(b"")
        store.delete(_PROBE_FILE)
    except StorageFull:
        raise
    except OSError:
        return False
    return True


# --- for users, outside of runs


def open_destination_client(
    target: Target, *, spark: SparkSession | None, schema_name: str | None
) -> JobClientBase:
    """Return a client that can write; its session is closed with the client."""
    workspace = Workspace(target, spark=spark)
    with workspace.client:
        schema = workspace.snapshot(schema_name).schema
    with ExitStack() as stack:
        stack.callback(workspace.close)
        client = workspace.open_client(schema, stack.enter_context(workspace.client_session()))
        client.when_closed(stack.pop_all().close)
        return client


def open_dataset(
    target: Target, *, spark: SparkSession | None, consistent: bool, schema: DatasetSchema = None
) -> Dataset:
    """Return a reader of the tables at a destination."""
    name = target.pipeline.dataset_name
    return Dataset(_dataset_source(target, spark), name=name, consistent=consistent, schema=schema)


def open_sql_client(
    target: Target, *, spark: SparkSession | None, schema_name: str | None
) -> DatasetSqlClient:
    """Return an SQL client for the tables at a destination."""
    source = _dataset_source(target, spark, schema_name)
    return Dataset(source, name=target.pipeline.dataset_name).sql_client


def open_reading_session(needs: tuple[str, ...], conf: Mapping[str, str]) -> SparkSession:
    """Return a session for DataFrames that are read and not written; it is never closed, as they are lazy."""
    user = find_session(None, read_settings(), needs)
    return SessionPool(user, needs, conf).session().__enter__()


def _dataset_source(
    target: Target, spark: SparkSession | None, schema_name: str | None = None
) -> DatasetSource:
    client = target.client(schema_name)
    root = package_root(target, client, master=target_master(spark, target.settings))
    packages = FileStorage(root, credentials=target.config.storage_credentials)
    sessions = SessionsOnDemand(lambda: open_pool(target, root, spark=spark), outlook_of(target, spark=spark))
    if existing_session(spark) is not None:
        sessions.opened()  # here, and not at the first query: a session may be refused
    return DatasetSource(client=client, ledger=open_ledger(client, packages), sessions=sessions)
