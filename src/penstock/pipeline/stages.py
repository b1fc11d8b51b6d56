"""The running halves of the stages, imported when they are first needed.

`import penstock` must not import pyspark, pyarrow or sqlglot: it is done in every script, and on machines
that only declare sources. This is the one module of the house with imports inside functions.
"""

# ruff: noqa: PLC0415 - see above
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.config import read_settings, resolve_configuration
from penstock.errors import MissingExtra
from penstock.interfaces import DestinationClientDwhConfiguration
from penstock.interfaces.progress import Collector
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
    from penstock.interfaces import Destination, Flow
    from penstock.interfaces.framecursor import FrameCursors
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.landing import FrameHook, LandedFrame
    from penstock.pipeline.listing import Listing
    from penstock.pipeline.live import LiveCollector
    from penstock.pipeline.memory import Memory
    from penstock.pipeline.recording import Recorder
    from penstock.pipeline.restore import Known
    from penstock.pipeline.runner import Runner
    from penstock.pipeline.workdir import WorkDir


def live_view(console: Any, refresh_per_second: float) -> LiveCollector:
    """The live view of a terminal."""
    try:
        from penstock.pipeline.live import LiveCollector
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rich":
            raise
        raise MissingExtra(extra="rich", needed_for='progress="rich"') from error
    return LiveCollector(console, refresh_per_second)


def recorder(pipeline_name: str, hooks: Sequence[RunHooks]) -> Recorder:
    """Who writes down what a run comes to."""
    from penstock.pipeline.recording import Recorder

    return Recorder(pipeline_name, tuple(hooks))


def runner(
    target: Target,
    recorder: Recorder,
    *,
    spark: SparkSession | None,
    extraction: ExtractConfiguration,
    loading: Mapping[str, Any],
) -> Runner:
    """Who does what `Pipeline.run`, `extract`, `normalize` and `load` say where the destination is known."""
    _require_spark()
    from penstock.pipeline.runner import Runner

    return Runner(target, recorder, spark=spark, extraction=extraction, loading=loading)


def extract_to_wait(
    flows: Sequence[Flow],
    *,
    pipeline_name: str,
    dataset_name: str,
    workdir: WorkDir,
    extraction: ExtractConfiguration,
    collector: Collector,
    recorder: Recorder,
) -> ExtractInfo:
    """What `Pipeline.extract` does without a destination: pyspark need not even be installed."""
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.waiting import WaitingRoom

    room = WaitingRoom(pipeline_name=pipeline_name, workdir=workdir, storage=extraction.package_storage)
    habits = resolve_configuration(
        RunConfiguration, settings=read_settings(), sections=("run",), pipeline_name=pipeline_name
    )
    return room.extract(
        flows,
        dataset_name=dataset_name,
        settings=extraction,
        times=habits.lease_times,
        collector=collector,
        recorder=recorder,
    )


def drop_pending(
    target: Target | None,
    *,
    pipeline_name: str,
    workdir: WorkDir,
    storage: str | None,
    spark: SparkSession | None,
    with_partial_loads: bool,
) -> None:
    """What `Pipeline.drop_pending_packages` does; without a destination there is only what waits for one."""
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.waiting import WaitingRoom

    room = WaitingRoom(pipeline_name=pipeline_name, workdir=workdir, storage=storage)
    if target is not None:
        _require_spark()
        from penstock.pipeline.dropping import drop_pending as drop

        drop(target, room, spark=spark, with_partial_loads=with_partial_loads)
        return
    habits = resolve_configuration(
        RunConfiguration, settings=read_settings(), sections=("run",), pipeline_name=pipeline_name
    )
    room.drop(times=habits.lease_times)


def listing(
    target: Target | None,
    *,
    pipeline_name: str,
    workdir: WorkDir,
    storage: str | None,
    spark: SparkSession | None,
) -> Listing:
    """The packages of a pipeline; those of its dataset too where the destination is known."""
    from penstock.package import Packages
    from penstock.pipeline.listing import Listing
    from penstock.pipeline.waiting import WaitingRoom

    room = WaitingRoom(pipeline_name=pipeline_name, workdir=workdir, storage=storage)
    waiting = Packages.at(room.location)
    if target is None:
        return Listing((waiting,))
    from penstock.pipeline.site import Site

    return Listing((waiting, Site(target, spark=spark).packages))


def memory(
    target: Target | None,
    *,
    pipeline_name: str,
    dataset_name: str,
    workdir: WorkDir,
    storage: str | None,
    spark: SparkSession | None,
) -> Memory:
    """What a pipeline remembers; without a destination that is what this machine does."""
    from penstock.package.typed import from_typed
    from penstock.pipeline.memory import Memory
    from penstock.pipeline.waiting import WaitingRoom

    def local() -> dict[str, Any]:
        found: dict[str, Any] = from_typed(workdir.local())
        return found

    if target is None:
        room = WaitingRoom(pipeline_name=pipeline_name, workdir=workdir, storage=storage)
        return Memory(lambda name: room.known_later(name, dataset_name), local)
    from penstock.pipeline.site import Site

    site = Site(target, spark=spark)

    def known(name: str | None) -> Known:
        with site.client:
            return site.known_later(name)

    return Memory(known, local)


def typed(value: Any) -> Any:
    """A value in the form in which JSON keeps it."""
    from penstock.package.typed import to_typed

    return to_typed(value)


def read_items(flow: Flow) -> Iterator[Any]:
    """The items of a source that a user iterates over."""
    from penstock.extract.reading import read_items as found

    return found(flow)


def land_frame(
    frame: DataFrame, address: str, *, hook: FrameHook | None = None, conf: Mapping[str, str] | None = None
) -> LandedFrame:
    """A DataFrame that a resource gave becomes files, written by its own session."""
    from penstock.spark.landing import land_frame as found

    return found(frame, address, hook=hook, conf=conf)


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
    destination: Destination,
    *,
    dataset_name: str,
    pipeline_name: str,
    workdir: WorkDir,
    spark: SparkSession | None,
    collector: Collector | None = None,
) -> Target:
    """A destination with the place that its settings say; nothing is opened yet."""
    settings = read_settings()
    schema_name = default_schema_name(pipeline_name)
    config = destination.configuration(
        settings,
        pipeline_name=pipeline_name,
        dataset_name=dataset_name,
        master=target_master(spark=spark, settings=settings),
    )
    if isinstance(config, DestinationClientDwhConfiguration):
        # Fixed here: schemas that come later may have other naming conventions, and mean the same dataset.
        name = config.normalize_dataset_name(Schema(schema_name))
        config = config.model_copy(update={"dataset_name": name})
    return Target(
        pipeline_name=pipeline_name,
        dataset_name=dataset_name,
        default_schema_name=schema_name,
        destination=destination,
        config=config,
        settings=settings,
        workdir=workdir,
        collector=collector or Collector(),
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
