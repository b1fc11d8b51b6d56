"""The running halves of the stages, imported when they are first needed.

`import penstock` must not import pyspark, pyarrow or sqlglot: it is done in every script, and on machines
that only declare sources. This is the one module of the house with imports inside functions.
"""

# ruff: noqa: PLC0415 - see above
from __future__ import annotations

import threading
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from penstock.config import read_settings, resolve_configuration
from penstock.errors import MissingExtra
from penstock.interfaces import DestinationClientDwhConfiguration
from penstock.interfaces.run_context import current_context
from penstock.pipeline.last_target import save_last_target
from penstock.pipeline.stagingbucket import staging_bucket, with_staging
from penstock.pipeline.target import Target, default_schema_name
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.config import Settings
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.sqlclient import SqlClient
    from penstock.dataset.view import DatasetSource
    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Destination, Flow, JobClientBase
    from penstock.interfaces.frame_writer import FrameHook, FrameWriteResult
    from penstock.interfaces.framecursor import FrameCursorEngine
    from penstock.interfaces.hooks import RunHooks
    from penstock.pipeline.home import PipelineContext
    from penstock.pipeline.live import LiveCollector
    from penstock.pipeline.package_listing import PackageListing
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.runner import Runner
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.state import State
    from penstock.pipeline.state_view import StateView
    from penstock.pipeline.sync import SyncOutcome
    from penstock.pipeline.trace_history import TraceHistory
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.schema import TSchemaTables


def live_view(console: Any, refresh_per_second: float) -> LiveCollector:
    """The live view of a terminal."""
    try:
        from penstock.pipeline.live import LiveCollector
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        raise MissingExtra(extra="rich", needed_for='progress="rich"') from error
    return LiveCollector(console, refresh_per_second)


def new_recorder(pipeline_name: str, hooks: Sequence[RunHooks], history: TraceHistory) -> Recorder:
    """Who writes down what a run comes to."""
    from penstock.pipeline.recorder import Recorder

    return Recorder(pipeline_name, tuple(hooks), history)


def open_runner(
    target: Target,
    recorder: Recorder,
    *,
    spark: SparkSession | None,
    extract_settings: ExtractConfiguration,
    load_overrides: Mapping[str, Any],
    file_format: str | None = None,
) -> Runner:
    """Who does what `Pipeline.run`, `extract`, `normalize` and `load` say where the destination is known."""
    _require_spark()
    from penstock.pipeline.runner import Runner

    made = Runner(
        target,
        recorder,
        spark=spark,
        extract_settings=extract_settings,
        load_overrides=load_overrides,
        file_format=file_format,
    )
    save_last_target(target, location=recorder.destination_info["location"])
    return made


def extract_unbound(
    flows: Sequence[Flow],
    context: PipelineContext,
    *,
    extract_settings: ExtractConfiguration,
    recorder: Recorder,
) -> ExtractInfo:
    """What `Pipeline.extract` does without a destination: pyspark need not even be installed."""
    return _unbound_packages(context, extract_settings.package_storage).extract(
        flows,
        dataset_name=context.dataset_name,
        settings=extract_settings,
        lease_times=_run_settings(context).lease_times,
        collector=context.collector,
        recorder=recorder,
    )


def drop_pending(
    target: Target | None,
    context: PipelineContext,
    *,
    storage: str | None,
    spark: SparkSession | None,
    with_partial_loads: bool,
) -> None:
    """What `Pipeline.drop_pending_packages` does; without a destination there is only what waits for one."""
    room = _unbound_packages(context, storage)
    if target is None:
        room.drop(lease_times=_run_settings(context).lease_times)
        return
    _require_spark()
    from penstock.pipeline.drop import drop_pending as drop

    drop(target, room, spark=spark, with_partial_loads=with_partial_loads)


def package_listing(
    target: Target | None, context: PipelineContext, *, storage: str | None, spark: SparkSession | None = None
) -> PackageListing:
    """The packages of a pipeline; those of its dataset too where the destination is known."""
    from penstock.package import Packages
    from penstock.pipeline.package_listing import PackageListing

    waiting = Packages.at(_unbound_packages(context, storage).location)
    if target is None:
        return PackageListing((waiting,))
    from penstock.pipeline.workspace import Workspace

    return PackageListing((waiting, Workspace(target, spark=spark).packages))


def state_view(
    target: Target | None, context: PipelineContext, *, storage: str | None, spark: SparkSession | None = None
) -> StateView:
    """What a pipeline remembers; without a destination that is what this machine does."""
    from penstock.package.typed_json import from_typed
    from penstock.pipeline.state_view import StateView

    def local() -> dict[str, Any]:
        found: dict[str, Any] = from_typed(context.workdir.local_values())
        return found

    room = _unbound_packages(context, storage)
    if target is None:
        return StateView(
            lambda name: room.snapshot_after_pending(name, context.dataset_name),
            local,
            lambda: local_state(context),
        )
    from penstock.package import Packages
    from penstock.pipeline.workspace import Workspace

    site, waiting = Workspace(target, spark=spark), Packages.at(room.location)

    def known(name: str | None) -> PipelineSnapshot:
        with site.client:
            return site.snapshot_after_pending(name, waiting)

    def stored() -> State:
        with site.client:
            return site.snapshot().state

    return StateView(known, local, stored)


def _unbound_packages(context: PipelineContext, storage: str | None) -> UnboundPackages:
    from penstock.pipeline.unbound_packages import UnboundPackages

    return UnboundPackages(
        pipeline_name=context.pipeline_name,
        workdir=context.workdir,
        storage=storage,
        schema_files=context.schema_files,
    )


def _run_settings(context: PipelineContext) -> RunConfiguration:
    from penstock.pipeline.settings import RunConfiguration

    return context.runtime or resolve_configuration(
        RunConfiguration, settings=read_settings(), sections=("run",), pipeline_name=context.pipeline_name
    )


def local_state(context: PipelineContext) -> State:
    """The state that this machine keeps of the last load."""
    from penstock.pipeline.restore import local_snapshot

    return local_snapshot(context).state


def typed_value(value: Any) -> Any:
    """A value in the form in which JSON keeps it."""
    from penstock.package.typed_json import to_typed

    return to_typed(value)


def read_items(flow: Flow) -> Iterator[Any]:
    """The items of a source that a user iterates over."""
    from penstock.extract.run import read_items as found

    lock, made = threading.Lock(), dict[frozenset[tuple[str, str]], "SparkSession"]()

    def session(conf: Mapping[str, str]) -> SparkSession:
        # Frames that are put together must be of one session.
        with lock:
            key = frozenset(conf.items())
            if key not in made:
                made[key] = _session_for_reading(flow.needs, conf)
            return made[key]

    return found(flow, session)


def _session_for_reading(needs: tuple[str, ...], conf: Mapping[str, str]) -> SparkSession:
    """A session for DataFrames that nobody lands: whoever looks at them decides how long they are there."""
    _require_spark()
    from penstock.spark.session import find_session
    from penstock.spark.session_pool import SessionPool

    user = find_session(None, read_settings(), needs)
    return SessionPool(user, needs, conf).session().__enter__()


def write_frame(
    frame: DataFrame,
    address: str,
    *,
    hook: FrameHook | None = None,
    conf: Mapping[str, str] | None = None,
    quarantine_column: str | None = None,
) -> FrameWriteResult:
    """A DataFrame that a resource gave becomes files, written by its own session."""
    from penstock.spark.frame_writer import write_frame as found

    watched = current_context().track_session
    with nullcontext() if watched is None else watched(frame.sparkSession):
        return found(frame, address, hook=hook, conf=conf, quarantine_column=quarantine_column)


def frame_cursor_engine() -> FrameCursorEngine:
    """Who knows how a cursor filters a DataFrame."""
    from penstock.spark import cursor

    return cursor


def open_dataset(target: Target, *, spark: SparkSession | None, consistent: bool) -> Dataset:
    """A reader over what a destination holds."""
    _require_spark()
    from penstock.dataset.dataset import Dataset

    return Dataset(_dataset_source(target, spark), name=target.dataset_name, consistent=consistent)


def open_sql_client(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> SqlClient:
    """SQL over what a destination holds."""
    _require_spark()
    from penstock.dataset.sqlclient import SqlClient

    return SqlClient(_dataset_source(target, spark, schema_name), dataset_name=target.dataset_name)


def open_client(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> JobClientBase:
    """A client of a destination that can write; closing it lets go of its session."""
    _require_spark()
    from penstock.pipeline.workspace import Workspace

    site = Workspace(target, spark=spark)
    with site.client:
        schema = site.snapshot(schema_name).schema
    stack = ExitStack()
    stack.callback(site.close)
    with stack:
        client = site.open_client(schema, stack.enter_context(site.session()))
        client.when_closed(stack.pop_all().close)
        return client


def sync_destination(target: Target, *, spark: SparkSession | None) -> SyncOutcome:
    """Bring the copies of this machine up to what the destination knows."""
    _require_spark()
    from penstock.pipeline.sync import sync_destination as found

    return found(target, spark=spark)


def preview_sync(target: Target) -> SyncOutcome:
    """What bringing the copies up to date would come to."""
    _require_spark()
    from penstock.pipeline.sync import preview_sync as found

    return found(target)


def sync_schema(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> TSchemaTables:
    """Bring the tables at the destination up to a schema."""
    _require_spark()
    from penstock.pipeline.sync import sync_schema as found

    return found(target, spark=spark, schema_name=schema_name)


def save_state_change(
    target: Target | None,
    context: PipelineContext,
    change: tuple[State, State],
    *,
    storage: str | None,
    spark: SparkSession | None,
    as_packages: bool,
) -> None:
    """Keep what was changed in the state: on this machine until the next package, or in packages.

    Where packages wait already, the change is one that waits behind them.
    """
    from penstock.pipeline.state_changes import StateChange, save_as_packages, save_locally

    changed = StateChange(*change)
    if not as_packages and not package_listing(target, context, storage=storage, spark=spark).has_pending:
        save_locally(changed, context)
        return
    times = _run_settings(context).lease_times
    if target is None:
        from penstock.package import Packages

        save_as_packages(changed, context, Packages.at(_unbound_packages(context, storage).location), times)
        return
    from penstock.pipeline.workspace import Workspace

    save_as_packages(changed, context, Workspace(target, spark=spark).packages, times)


def _dataset_source(
    target: Target, spark: SparkSession | None, schema_name: str | None = None
) -> DatasetSource:
    from penstock.dataset.view import DatasetSource
    from penstock.package import FileStorage
    from penstock.pipeline.places import ledger_of, open_pool, package_root
    from penstock.spark.session import target_master

    client = target.client(schema_name)
    root = package_root(target, client, master=target_master(spark, target.settings))
    packages = FileStorage(root, credentials=target.config.storage_credentials)
    user, pool = open_pool(target, root, spark=spark)
    return DatasetSource(client=client, ledger=ledger_of(client, packages), user=user, pool=pool)


def open_target(
    destination: Destination,
    context: PipelineContext,
    *,
    spark: SparkSession | None,
    staging: Destination | None = None,
) -> Target:
    """A destination with the place that its settings say; nothing is opened yet."""
    settings = read_settings()
    schema_name = default_schema_name(context.pipeline_name)
    names = {"pipeline_name": context.pipeline_name, "dataset_name": context.dataset_name}
    master = target_master(spark=spark, settings=settings)
    config = destination.configuration(settings, **names, master=master)
    if isinstance(config, DestinationClientDwhConfiguration):
        # Fixed here: schemas that come later may have other naming conventions, and mean the same dataset.
        name = config.normalize_dataset_name(Schema(schema_name))
        config = config.model_copy(update={"dataset_name": name})
    bucket = None
    if staging is not None:
        staged = staging.configuration(settings, **names, master=master)
        bucket, config = staging_bucket(staged, config), with_staging(config, staged)
    return Target(
        **names,
        default_schema_name=schema_name,
        destination=destination,
        config=config,
        settings=settings,
        workdir=context.workdir,
        collector=context.collector,
        staging=bucket,
        staging_name=staging.destination_name if staging is not None else None,
        schema_files=context.schema_files,
        restore_from_destination=context.restore_from_destination,
        runtime=context.runtime,
    )


def target_master(*, spark: SparkSession | None, settings: Settings) -> str:
    """Where Spark runs or will run; nothing is started to find out."""
    _require_spark()
    from penstock.spark.session import target_master as found

    return found(spark, settings)


def _require_spark() -> None:
    try:
        import pyspark.sql  # noqa: F401 - asked for, not used
    except ImportError as error:
        raise MissingExtra(extra="spark", needed_for="running a pipeline") from error
