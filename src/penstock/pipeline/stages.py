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
from penstock.interfaces.current import current
from penstock.pipeline.origin import note_origin
from penstock.pipeline.stagingbucket import staging_bucket, with_staging
from penstock.pipeline.target import Target, default_schema_name
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.config import Settings
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.place import Place
    from penstock.dataset.sqlclient import SqlClient
    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Destination, Flow, JobClientBase
    from penstock.interfaces.framecursor import FrameCursors
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.landing import FrameHook, LandedFrame
    from penstock.pipeline.history import History
    from penstock.pipeline.home import Home
    from penstock.pipeline.listing import Listing
    from penstock.pipeline.live import LiveCollector
    from penstock.pipeline.memory import Memory
    from penstock.pipeline.recording import Recorder
    from penstock.pipeline.restore import Known
    from penstock.pipeline.runner import Runner
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.state import State
    from penstock.pipeline.syncing import Synced
    from penstock.pipeline.waiting import WaitingRoom
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


def recorder(pipeline_name: str, hooks: Sequence[RunHooks], history: History) -> Recorder:
    """Who writes down what a run comes to."""
    from penstock.pipeline.recording import Recorder

    return Recorder(pipeline_name, tuple(hooks), history)


def runner(
    target: Target,
    recorder: Recorder,
    *,
    spark: SparkSession | None,
    extraction: ExtractConfiguration,
    loading: Mapping[str, Any],
    file_format: str | None = None,
) -> Runner:
    """Who does what `Pipeline.run`, `extract`, `normalize` and `load` say where the destination is known."""
    _require_spark()
    from penstock.pipeline.runner import Runner

    made = Runner(
        target, recorder, spark=spark, extraction=extraction, loading=loading, file_format=file_format
    )
    note_origin(target, location=recorder.place["location"])
    return made


def extract_to_wait(
    flows: Sequence[Flow], home: Home, *, extraction: ExtractConfiguration, recorder: Recorder
) -> ExtractInfo:
    """What `Pipeline.extract` does without a destination: pyspark need not even be installed."""
    return _waiting_room(home, extraction.package_storage).extract(
        flows,
        dataset_name=home.dataset_name,
        settings=extraction,
        times=_habits(home).lease_times,
        collector=home.collector,
        recorder=recorder,
    )


def drop_pending(
    target: Target | None,
    home: Home,
    *,
    storage: str | None,
    spark: SparkSession | None,
    with_partial_loads: bool,
) -> None:
    """What `Pipeline.drop_pending_packages` does; without a destination there is only what waits for one."""
    room = _waiting_room(home, storage)
    if target is None:
        room.drop(times=_habits(home).lease_times)
        return
    _require_spark()
    from penstock.pipeline.dropping import drop_pending as drop

    drop(target, room, spark=spark, with_partial_loads=with_partial_loads)


def listing(
    target: Target | None, home: Home, *, storage: str | None, spark: SparkSession | None = None
) -> Listing:
    """The packages of a pipeline; those of its dataset too where the destination is known."""
    from penstock.package import Packages
    from penstock.pipeline.listing import Listing

    waiting = Packages.at(_waiting_room(home, storage).location)
    if target is None:
        return Listing((waiting,))
    from penstock.pipeline.site import Site

    return Listing((waiting, Site(target, spark=spark).packages))


def memory(
    target: Target | None, home: Home, *, storage: str | None, spark: SparkSession | None = None
) -> Memory:
    """What a pipeline remembers; without a destination that is what this machine does."""
    from penstock.package.typed import from_typed
    from penstock.pipeline.memory import Memory

    def local() -> dict[str, Any]:
        found: dict[str, Any] = from_typed(home.workdir.local())
        return found

    room = _waiting_room(home, storage)
    if target is None:
        return Memory(lambda name: room.known_later(name, home.dataset_name), local, lambda: kept_state(home))
    from penstock.package import Packages
    from penstock.pipeline.site import Site

    site, waiting = Site(target, spark=spark), Packages.at(room.location)

    def known(name: str | None) -> Known:
        with site.client:
            return site.known_later(name, waiting)

    def stored() -> State:
        with site.client:
            return site.known().state

    return Memory(known, local, stored)


def _waiting_room(home: Home, storage: str | None) -> WaitingRoom:
    from penstock.pipeline.waiting import WaitingRoom

    return WaitingRoom(
        pipeline_name=home.pipeline_name, workdir=home.workdir, storage=storage, files=home.files
    )


def _habits(home: Home) -> RunConfiguration:
    from penstock.pipeline.settings import RunConfiguration

    return home.runtime or resolve_configuration(
        RunConfiguration, settings=read_settings(), sections=("run",), pipeline_name=home.pipeline_name
    )


def kept_state(home: Home) -> State:
    """The state that this machine keeps of the last load."""
    from penstock.pipeline.restore import remembered

    return remembered(home).state


def typed(value: Any) -> Any:
    """A value in the form in which JSON keeps it."""
    from penstock.package.typed import to_typed

    return to_typed(value)


def read_items(flow: Flow) -> Iterator[Any]:
    """The items of a source that a user iterates over."""
    from penstock.extract.reading import read_items as found

    lock, made = threading.Lock(), dict[frozenset[tuple[str, str]], "SparkSession"]()

    def session(conf: Mapping[str, str]) -> SparkSession:
        # Frames that are put together must be of one session.
        with lock:
            key = frozenset(conf.items())
            if key not in made:
                made[key] = _session_to_look(flow.needs, conf)
            return made[key]

    return found(flow, session)


def _session_to_look(needs: tuple[str, ...], conf: Mapping[str, str]) -> SparkSession:
    """A session for DataFrames that nobody lands: whoever looks at them decides how long they are there."""
    _require_spark()
    from penstock.spark.own import SessionPool
    from penstock.spark.session import find_session

    user = find_session(None, read_settings(), needs)
    return SessionPool(user, needs, conf).session().__enter__()


def land_frame(
    frame: DataFrame,
    address: str,
    *,
    hook: FrameHook | None = None,
    conf: Mapping[str, str] | None = None,
    aside: str | None = None,
) -> LandedFrame:
    """A DataFrame that a resource gave becomes files, written by its own session."""
    from penstock.spark.landing import land_frame as found

    watched = current().watched
    with nullcontext() if watched is None else watched(frame.sparkSession):
        return found(frame, address, hook=hook, conf=conf, aside=aside)


def frame_cursors() -> FrameCursors:
    """Who knows how a cursor filters a DataFrame."""
    from penstock.spark import cursor

    return cursor


def open_dataset(target: Target, *, spark: SparkSession | None, consistent: bool) -> Dataset:
    """A reader over what a destination holds."""
    _require_spark()
    from penstock.dataset.dataset import Dataset

    return Dataset(_place_to_read(target, spark), name=target.dataset_name, consistent=consistent)


def open_sql_client(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> SqlClient:
    """SQL over what a destination holds."""
    _require_spark()
    from penstock.dataset.sqlclient import SqlClient

    return SqlClient(_place_to_read(target, spark, schema_name), dataset_name=target.dataset_name)


def open_client(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> JobClientBase:
    """A client of a destination that can write; closing it lets go of its session."""
    _require_spark()
    from penstock.pipeline.site import Site

    site = Site(target, spark=spark)
    with site.client:
        schema = site.known(schema_name).schema
    stack = ExitStack()
    stack.callback(site.close)
    with stack:
        client = site.open(schema, stack.enter_context(site.session()))
        client.when_closed(stack.pop_all().close)
        return client


def sync_destination(target: Target, *, spark: SparkSession | None) -> Synced:
    """Bring the copies of this machine up to what the destination knows."""
    _require_spark()
    from penstock.pipeline.syncing import sync_destination as found

    return found(target, spark=spark)


def sync_outlook(target: Target) -> Synced:
    """What bringing the copies up to date would come to."""
    _require_spark()
    from penstock.pipeline.syncing import sync_outlook as found

    return found(target)


def sync_schema(target: Target, *, spark: SparkSession | None, schema_name: str | None) -> TSchemaTables:
    """Bring the tables at the destination up to a schema."""
    _require_spark()
    from penstock.pipeline.syncing import sync_schema as found

    return found(target, spark=spark, schema_name=schema_name)


def keep_state(
    target: Target | None,
    home: Home,
    change: tuple[State, State],
    *,
    storage: str | None,
    spark: SparkSession | None,
    as_packages: bool,
) -> None:
    """Keep what was changed in the state: on this machine until the next package, or in packages.

    Where packages wait already, the change is one that waits behind them.
    """
    from penstock.pipeline.managing import StateChange, keep_here, leave_packages

    changed = StateChange(*change)
    if not as_packages and not listing(target, home, storage=storage, spark=spark).has_pending:
        keep_here(changed, home)
        return
    times = _habits(home).lease_times
    if target is None:
        from penstock.package import Packages

        leave_packages(changed, home, Packages.at(_waiting_room(home, storage).location), times)
        return
    from penstock.pipeline.site import Site

    leave_packages(changed, home, Site(target, spark=spark).packages, times)


def _place_to_read(target: Target, spark: SparkSession | None, schema_name: str | None = None) -> Place:
    from penstock.dataset.place import Place
    from penstock.package import FileStorage
    from penstock.pipeline.places import ledger_of, open_pool, package_root
    from penstock.spark.session import target_master

    client = target.client(schema_name)
    root = package_root(target, client, master=target_master(spark, target.settings))
    packages = FileStorage(root, credentials=target.config.storage_credentials)
    user, pool = open_pool(target, root, spark=spark)
    return Place(client=client, ledger=ledger_of(client, packages), user=user, pool=pool)


def open_target(
    destination: Destination, home: Home, *, spark: SparkSession | None, staging: Destination | None = None
) -> Target:
    """A destination with the place that its settings say; nothing is opened yet."""
    settings = read_settings()
    schema_name = default_schema_name(home.pipeline_name)
    names = {"pipeline_name": home.pipeline_name, "dataset_name": home.dataset_name}
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
        workdir=home.workdir,
        collector=home.collector,
        staging=bucket,
        staging_name=staging.destination_name if staging is not None else None,
        files=home.files,
        restores=home.restores,
        runtime=home.runtime,
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
