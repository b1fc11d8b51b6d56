"""The `Pipeline`: the object that users create, run and inspect."""

from __future__ import annotations

from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from penstock.config import config_value, enter_scope, in_scope, logger
from penstock.errors import CannotRestorePipelineException, PipelineConfigMissing, PipelineNotActive
from penstock.interfaces import Destination, check_refresh
from penstock.interfaces.run_context import current_context, override_context, update_context
from penstock.pipeline import late_imports
from penstock.pipeline.arguments import check_dispositions, check_file_format, resolve_extract_settings
from penstock.pipeline.configuration import salt_of
from penstock.pipeline.context import PipelineContext, format_dataset_name
from penstock.pipeline.frame_engine import SparkFrameEngine
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.progress import resolve_collector
from penstock.pipeline.schema_files import SchemaFiles
from penstock.pipeline.signals import interrupt_on_sigterm
from penstock.pipeline.trace import TraceHistory
from penstock.pipeline.workdir import WorkDir, check_name
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset
    from penstock.dataset.sqlclient import SqlClient
    from penstock.extract.plan import OnError
    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow, JobClientBase
    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.interfaces.hints import NestedValues
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.progress import Collector
    from penstock.load.report import LoadInfo
    from penstock.normalize.report import NormalizeInfo
    from penstock.package import LoadJobInfo, LoadPackageInfo, TLoadPackageState
    from penstock.pipeline.configuration import PipelineConfiguration
    from penstock.pipeline.execution import Execution
    from penstock.pipeline.package_listing import PackageListing
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.state import TPipelineState
    from penstock.pipeline.state_changes import StateChange
    from penstock.pipeline.state_view import StateView
    from penstock.pipeline.target import Target
    from penstock.pipeline.trace import PipelineTrace
    from penstock.pipeline.types import (
        TAnySchemaColumns,
        TColumnNames,
        TDestinationReferenceArg,
        TRefreshMode,
        TSchemaContract,
        TWriteDispositionConfig,
    )
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.pipeline.workspace import Workspace
    from penstock.schema import NamingConvention, Schema, TSchemaTables

_LOG = logger("penstock.pipeline")


class Pipeline:
    """Moves data to one dataset of one destination, load by load.

    Make one with `penstock.pipeline`.

    >>> from penstock.pipeline.factory import pipeline
    >>> pipeline("quick", destination="delta", dataset_name="demo")
    <penstock.Pipeline 'quick' to delta dataset 'demo'>
    """

    pipeline_name: str
    """The name of the pipeline, of its working folder and of its state."""
    pipelines_dir: Path
    """The folder with the working folders of pipelines."""
    destination: Destination | None
    """The destination of loads; None until a call names it."""
    staging: Destination | None
    """The destination in whose bucket packages are stored; None: next to the tables."""
    dataset_name: str
    """The dataset of loads."""
    config: PipelineConfiguration
    collector: Collector
    import_schema_path: str | Path | None
    export_schema_path: str | Path | None

    def __init__(  # noqa: PLR0913, PLR0917 - the arguments are the page's
        self,
        pipeline_name: str,
        pipelines_dir: str | Path,
        pipeline_salt: str | None,
        destination: TDestinationReferenceArg,
        staging: TDestinationReferenceArg,
        dataset_name: str | None,
        import_schema_path: str | Path | None,
        export_schema_path: str | Path | None,
        dev_mode: bool,  # noqa: FBT001 - the page's
        progress: str | Collector | None,
        must_attach_to_local_pipeline: bool,  # noqa: FBT001 - the page's
        config: PipelineConfiguration,
        runtime: RunConfiguration | None,
        refresh: TRefreshMode | None = None,
        *,
        spark: SparkSession | None = None,
        hooks: Sequence[RunHooks] = (),
    ) -> None:
        """Use `penstock.pipeline` or `penstock.attach`, which fill in what the settings say."""
        self.pipeline_name = check_name(pipeline_name)
        self.pipelines_dir = Path(pipelines_dir)
        self.pipeline_salt = salt_of(pipeline_name, pipeline_salt)
        self.destination = Destination.from_reference(destination) if destination is not None else None
        self.staging = Destination.from_reference(staging) if staging is not None else None
        self.import_schema_path, self.export_schema_path = import_schema_path, export_schema_path
        self.dev_mode, self.refresh = dev_mode, check_refresh(refresh)
        self.config, self._runtime = config, runtime
        self.collector = resolve_collector(progress)
        self._spark, self._hooks = spark, tuple(hooks)
        self._init_arguments = {"pipeline_salt": pipeline_salt, "dataset_name": dataset_name}
        if must_attach_to_local_pipeline and not LocalPipeline(self.working_dir).exists:
            raise CannotRestorePipelineException(
                pipeline_name=pipeline_name,
                working_dir=str(self.working_dir),
                reason="this machine has no working folder of it",
            )
        self._reset()

    def _reset(self) -> None:
        """Be as if made just now."""
        self._last_trace: PipelineTrace | None = None
        self._dev_since = datetime.now(UTC) if self.dev_mode else None
        self.dataset_name = format_dataset_name(
            self._init_arguments["dataset_name"] or self.pipeline_name,
            layout=self.config.dataset_name_layout,
            dev_since=self._dev_since,
        )
        if self.dev_mode:
            WorkDir(self.working_dir).reset()

    def __repr__(self) -> str:
        to = self.destination.destination_name if self.destination else "no destination,"
        return f"<penstock.Pipeline {self.pipeline_name!r} to {to} dataset {self.dataset_name!r}>"

    @property
    def working_dir(self) -> Path:
        """The local folder of this pipeline: caches only."""
        return self.pipelines_dir / self.pipeline_name

    # --- runs

    def run(  # noqa: PLR0913 - the arguments are the page's
        self,
        data: Any = None,
        *,
        destination: TDestinationReferenceArg = None,
        staging: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
        credentials: Any = None,
        table_name: str | None = None,
        write_disposition: TWriteDispositionConfig | None = None,
        columns: TAnySchemaColumns | None = None,
        primary_key: TColumnNames | None = None,
        schema: Schema | None = None,
        loader_file_format: TLoaderFileFormat | None = None,
        table_format: Any = None,
        schema_contract: TSchemaContract | None = None,
        refresh: TRefreshMode | None = None,
        nested: NestedValues | None = None,
        on_error: OnError | None = None,
        commit_interval: float | timedelta | None = None,
    ) -> LoadInfo:
        """Extract, normalize and load `data`; packages left by an earlier run are finished first.

        `data` is a source, a resource, a list of them, or rows: a list, an iterator, a generator, a function
        that gives one of these, or a frame. A row is a dict, or a value that becomes the column `value`.
        Nested dicts are flattened into columns, nested lists become tables of their own. `table_name` is
        needed where the data has no name. The hints are those of every resource, over what they say
        themselves. Without data only what is pending is finished.

        `destination`, `staging`, `dataset_name` and `credentials` hold from this call on.
        `loader_file_format` says what plain files are: `parquet`, `jsonl` or `csv`; tables keep to it.
        `schema_contract` counts before those of sources and resources, for all tables of this run.
        `nested="keep"` leaves structs, lists and maps of frames what they are.

        With `refresh` the source begins anew: `drop_sources` drops all tables and the whole state of each
        source, `drop_resources` those of the resources that are extracted, and `drop_data` deletes their rows
        and forgets their state. What is there goes with the commits that bring the new rows, never before.

        With `on_error="continue"` a resource that raises is left out of the load, and told in the result.
        With `commit_interval`, in seconds, what has come so far is loaded every so often while extraction
        goes on. Both can be settings of the section `extract`.
        """
        self._bind(destination, dataset_name, staging, credentials)
        check_file_format(loader_file_format)
        with self._record_call() as recorder:
            flows: tuple[Flow, ...] = ()
            if data is not None:
                flows = flows_of(
                    data,
                    table_name=table_name,
                    schema=schema,
                    write_disposition=write_disposition,
                    columns=columns,
                    primary_key=primary_key,
                    table_format=table_format,
                    file_format=loader_file_format,
                    schema_contract=schema_contract,
                    refresh=refresh or self.refresh,
                    nested=nested,
                )
            check_dispositions(flows, self._require_destination())
            said = {"on_error": on_error, "commit_interval": commit_interval}
            self._execution(recorder, resolve_extract_settings(self.pipeline_name, **said)).run(flows)
            return recorder.load_info()

    def extract(  # noqa: PLR0913 - the arguments are the page's
        self,
        data: Any,
        *,
        table_name: str | None = None,
        parent_table_name: str | None = None,
        write_disposition: TWriteDispositionConfig | None = None,
        columns: TAnySchemaColumns | None = None,
        primary_key: TColumnNames | None = None,
        schema: Schema | None = None,
        max_parallel_items: int | None = config_value,
        workers: int | None = config_value,
        table_format: Any = None,
        schema_contract: TSchemaContract | None = None,
        refresh: TRefreshMode | None = None,
        nested: NestedValues | None = None,
        on_error: OnError | None = None,
    ) -> ExtractInfo:
        """Extract `data` into a package, and leave it for the next `run` to normalize and load.

        The destination need not be known. Then the package waits in the working folder, or where the setting
        `extract.package_storage` says, and a later run carries it to its destination. Spark is not started
        for Python rows. The arguments are those of `run`; `workers` and `max_parallel_items` are settings of
        the section `extract` where they are not said. `parent_table_name` makes the table one that is nested
        in another.
        """
        with self._record_call() as recorder:
            flows = flows_of(
                data,
                table_name=table_name,
                parent_table_name=parent_table_name,
                schema=schema,
                write_disposition=write_disposition,
                columns=columns,
                primary_key=primary_key,
                table_format=table_format,
                schema_contract=schema_contract,
                refresh=refresh or self.refresh,
                nested=nested,
            )
            extraction = resolve_extract_settings(
                self.pipeline_name, max_parallel_items=max_parallel_items, workers=workers, on_error=on_error
            ).model_copy(update={"commit_interval": None})
            if self.destination is not None:
                check_dispositions(flows, self.destination)
                return self._execution(recorder, extraction).extract(flows)
            return self._unbound_packages(extraction).extract(flows, settings=extraction, recorder=recorder)

    def normalize(
        self, workers: int = 1, loader_file_format: TLoaderFileFormat | None = None
    ) -> NormalizeInfo:
        """Normalize what `extract` has left, and leave it for `load`. The destination must be known.

        `loader_file_format` is that of tables which say none: what plain files are, as in `run`. `workers`
        changes nothing: Spark shares the work out.
        """
        del workers
        check_file_format(loader_file_format)
        with self._record_call() as recorder:
            self._execution(recorder, file_format=loader_file_format).normalize()
            return recorder.normalize_info()

    def load(
        self,
        destination: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
        credentials: Any = None,
        *,
        workers: int | None = None,
        raise_on_failed_jobs: bool | None = None,
    ) -> LoadInfo:
        """Load what `normalize` has left.

        `workers` jobs run side by side. With `raise_on_failed_jobs=False` a chain of tables with a job that
        cannot be done is left out, and told in the result. Both are settings of the section `load` where they
        are not said.
        """
        self._bind(destination, dataset_name, credentials=credentials)
        with self._record_call() as recorder:
            said = {"workers": workers, "raise_on_failed_jobs": raise_on_failed_jobs}
            self._execution(recorder, load_overrides=said).load()
            return recorder.load_info()

    @property
    def last_trace(self) -> PipelineTrace | None:
        """What the last run that has ended came to, well or not; None before it.

        That of this object, else of this machine. A run that was killed has no trace: `penstock pipeline NAME
        info` shows when it began.
        """
        return self._last_trace or self._history().last()

    def traces(self) -> Iterator[PipelineTrace]:
        """What the last runs on this machine came to, the newest first; a hundred are kept."""
        return self._history().traces()

    # --- packages

    @property
    def has_data(self) -> bool:
        """Whether there is anything: a schema, a package, or a load at the destination."""
        return (
            not self._state_view().is_new
            or self.has_pending_data
            or bool(self.list_completed_load_packages())
        )

    @property
    def has_pending_data(self) -> bool:
        """Whether a package waits to be normalized or loaded."""
        return self._package_listing().has_pending

    @property
    def first_run(self) -> bool:
        """Whether no load of this pipeline has been completed yet."""
        return not self.list_completed_load_packages() and self._state_view().is_new

    def list_extracted_resources(self) -> Sequence[str]:
        """Where the rows stand that will be normalized; `list_extracted_load_packages` says more."""
        return self._package_listing().extracted_folders()

    def list_extracted_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be normalized."""
        return self._package_listing().extracted_ids()

    def list_normalized_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be loaded."""
        return self._package_listing().normalized_ids()

    def list_completed_load_packages(self) -> Sequence[str]:
        """The ids of packages that are loaded; of old ones nothing is kept."""
        return self._package_listing().completed_ids()

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """A package, with all jobs and their states."""
        return self._package_listing().info(load_id)

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """What a package remembers."""
        return self._package_listing().state(load_id)

    def list_failed_jobs_in_package(self, load_id: str) -> Sequence[LoadJobInfo]:
        """The jobs of a package that failed, those that wait to be tried again too, with their messages."""
        return self._package_listing().failed_jobs(load_id)

    def drop_pending_packages(self, with_partial_loads: bool = True) -> None:  # noqa: FBT001, FBT002 - the page's
        """Delete the packages that wait: extracted, normalized, and those that are loaded in part.

        Tables that have rows of such a load already go back to what they were, by one commit each. Nothing is
        dropped if somebody has written to one of them since: the error says to which. With
        `with_partial_loads=False` a load that was begun stays, and the next `run` goes on with it.

        State and schema are those of the last complete load, so the next `run` asks the source again for what
        was dropped.
        """
        with self._run_context():
            unbound = self._unbound_packages()
            if self.destination is None:
                unbound.drop()
                return
            late_imports.drop.drop_pending(
                self._target(), unbound, spark=self._spark, with_partial_loads=with_partial_loads
            )

    # --- state and schemas

    @property
    def state(self) -> dict[str, Any]:
        """The state after everything that waits is loaded; a copy, to look at."""
        return self._state_view().state

    def kept_state(self) -> dict[str, Any]:
        """The state as this machine keeps it, without a look at the destination; a copy.

        Functions of sources that are called outside a run find it, as long as this is the active pipeline.
        """
        return late_imports.restore.local_snapshot(self._context()).state

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by their names."""
        return self._state_view()

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that bring none."""
        return self._state_view().default_schema

    @property
    def default_schema_name(self) -> str:
        """The name of the default schema."""
        return self.default_schema.name

    @property
    def naming(self) -> NamingConvention:
        """The naming convention of the default schema."""
        return self.default_schema.naming

    def set_local_state_val(self, key: str, value: Any) -> None:
        """Remember a value on this machine alone: it never gets to the destination."""
        late_imports.state_changes.save_local_value(WorkDir(self.working_dir), key, value)

    def get_local_state_val(self, key: str) -> Any:
        """A value that this machine remembers; KeyError for one that it does not."""
        return self._state_view().local_values[key]

    @contextmanager
    def managed_state(self, *, extract_state: bool = False) -> Iterator[TPipelineState]:
        """Change the state by hand: what is below `sources`, and values of this machine below `_local`.

        After the block the changes are kept; when it raises, none is. They stay on this machine until the
        next package takes them along. With `extract_state` they are packages at once, which any machine can
        load. In the block `penstock.current.source_state()` is part of this state.
        """
        before = self._state_view().state
        state = deepcopy(before)
        with self._run_context(), override_context(state=state, source_name=before["default_schema_name"]):
            yield cast("TPipelineState", state)
        change = late_imports.state_changes.StateChange(before, state)
        if extract_state or self.has_pending_data:
            self._save_as_packages(change)
        else:
            late_imports.state_changes.save_locally(change, self._context())

    def _save_as_packages(self, change: StateChange) -> None:
        """Save a change as packages, which are loaded after those that are pending."""
        unbound, workspace = self._unbound_packages(), self._workspace()
        late_imports.state_changes.save_as_packages(
            change,
            unbound.pipeline,
            unbound.packages if workspace is None else workspace.packages,
            unbound.lease_times,
        )

    # --- the tables at the destination

    def dataset(self, *, consistent: bool = True) -> Dataset:
        """Read what was loaded: `pipeline.dataset()["items"].df()`.

        A dataset shows complete loads only, all tables at one moment; `consistent=False` shows the tables as
        they are, with what a load has written that is not complete.
        """
        return late_imports.workspace.open_dataset(self._target(), spark=self._spark, consistent=consistent)

    def sql_client(self, schema_name: str | None = None) -> SqlClient:
        """Query and change the tables with Spark SQL, by their bare names; use it in a `with` block.

        Values for `%s` are bound by the engine. `schema_name` says whose dataset is meant where schemas have
        datasets of their own.
        """
        return late_imports.workspace.open_sql_client(
            self._target(), spark=self._spark, schema_name=schema_name
        )

    def destination_client(self, schema_name: str | None = None) -> JobClientBase:
        """The client of the destination, to do by hand what a load does; use it in a `with` block.

        It knows the tables of the named schema, or of the default one. What is done with it is in no load:
        `with pipeline.destination_client() as client: client.drop_storage()` deletes the dataset,
        with the packages that wait in its folder.
        """
        with self._run_context():
            return late_imports.workspace.open_destination_client(
                self._target(), spark=self._spark, schema_name=schema_name
            )

    def sync_destination(
        self,
        destination: TDestinationReferenceArg = None,
        staging: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
    ) -> None:
        """Bring what this machine keeps of state and schemas up to what the destination knows.

        A state at the destination that is not older replaces the one that is kept here, and the schemas with
        it. Where the dataset is not there any more, what is kept here goes. Packages that wait stay, whatever
        is found. `run` does this by itself, unless the setting `restore_from_destination` is false.
        """
        self._bind(destination, dataset_name, staging)
        with self._run_context():
            late_imports.sync.sync_destination(self._target(), spark=self._spark)

    def sync_schema(self, schema_name: str | None = None) -> TSchemaTables:
        """Bring the tables at the destination up to a schema, the default one if none is named.

        Properties, clusters and types of tables that are there become what the schema says. Tables and
        columns that are not there come with their first rows. Gives the tables and columns that the schema
        has more than after the last load.
        """
        with self._run_context():
            return late_imports.sync.sync_schema(self._target(), spark=self._spark, schema_name=schema_name)

    # --- this machine

    def drop(self, pipeline_name: str | None = None) -> Pipeline:
        """Delete what this machine keeps of the pipeline: copies of state and schemas, values, traces.

        The destination is left alone, and so are packages that wait: they are data, and
        `drop_pending_packages` is for them. With another name a new pipeline is given, made like this one.
        Either is the active one from here on.
        """
        workdir = WorkDir(self.working_dir)
        workdir.drop()
        if late_imports.package_listing.PackageListing((self._unbound_packages().packages,)).has_pending:
            _LOG.warning("packages of %s still wait: drop_pending_packages() is for them", self.pipeline_name)
        made = self if pipeline_name in {None, self.pipeline_name} else self._clone_as(str(pipeline_name))
        made._reset()  # noqa: SLF001 - one of our own
        made.activate()
        return made

    def _clone_as(self, pipeline_name: str) -> Pipeline:
        """A pipeline made like this one, with another name."""
        return type(self)(
            pipeline_name,
            self.pipelines_dir,
            destination=self.destination,
            staging=self.staging,
            import_schema_path=self.import_schema_path,
            export_schema_path=self.export_schema_path,
            dev_mode=self.dev_mode,
            progress=self.collector,
            must_attach_to_local_pipeline=False,
            config=self.config,
            runtime=self._runtime,
            refresh=self.refresh,
            spark=self._spark,
            hooks=self._hooks,
            **self._init_arguments,
        )

    def activate(self) -> None:
        """Make this the active pipeline: `penstock.pipeline()` gives it, and settings are looked up for it.

        Only one is active at a time, the one that was made, attached or run last. Where settings have a
        section with its name, that counts before all others.
        """
        update_context(pipeline=self)
        enter_scope(pipeline_name=self.pipeline_name)

    def deactivate(self) -> None:
        """Leave no pipeline active; an error where this one is not."""
        if not self.is_active:
            raise PipelineNotActive(pipeline_name=self.pipeline_name)
        update_context(pipeline=None)
        enter_scope(pipeline_name="")

    @property
    def is_active(self) -> bool:
        """Whether this is the active pipeline."""
        return active_pipeline() is self

    # --- one call

    @contextmanager
    def _record_call(self) -> Iterator[Recorder]:
        """One call: what it comes to is written down, and what fails in a step says in which."""
        self.activate()
        recorder = late_imports.recorder.Recorder(self.pipeline_name, self._hooks, self._history())
        recorder.notify_start()
        try:
            with self._run_context(), recorder.capture_settings(), interrupt_on_sigterm():
                yield recorder
        except Exception as error:
            if recorder.has_begun_work:
                raise recorder.failure(self, error) from error
            if recorder.is_recorded:
                recorder.record_failure(error)
            raise
        except BaseException as error:
            # Somebody wants it to stop: that is told and written down, and leaves as what it is.
            if recorder.is_recorded:
                recorder.record_failure(error)
            raise
        finally:
            self._last_trace = recorder.finish()
            if recorder.is_recorded:
                self._history().add(self._last_trace)

    def _bind(
        self,
        destination: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
        staging: TDestinationReferenceArg = None,
        credentials: Any = None,
    ) -> None:
        """Take over what a call says of where to load, for this call and later ones."""
        if dataset_name is not None:
            self.dataset_name = format_dataset_name(
                dataset_name, layout=self.config.dataset_name_layout, dev_since=self._dev_since
            )
        if destination is not None:
            self.destination = Destination.from_reference(destination)
        if staging is not None:
            self.staging = Destination.from_reference(staging)
        if credentials is not None:
            self.destination = self._require_destination().with_arguments(credentials=credentials)

    @contextmanager
    def _run_context(self) -> Iterator[None]:
        """User code and the configuration know which pipeline runs."""
        with override_context(pipeline=self), in_scope(pipeline_name=self.pipeline_name):
            yield

    def _execution(
        self,
        recorder: Recorder,
        extract_settings: ExtractConfiguration | None = None,
        load_overrides: Mapping[str, Any] | None = None,
        file_format: str | None = None,
    ) -> Execution:
        target = self._target()
        extract_settings = extract_settings or resolve_extract_settings(self.pipeline_name)
        return late_imports.execution.Execution(
            target,
            self._unbound_packages(extract_settings),
            recorder,
            spark=self._spark,
            extract_settings=extract_settings,
            load_overrides={key: value for key, value in (load_overrides or {}).items() if value is not None},
            file_format=file_format,
        )

    def _history(self) -> TraceHistory:
        return TraceHistory(self.working_dir / "traces")

    # --- the parts of a pipeline

    def _context(self) -> PipelineContext:
        return PipelineContext(
            pipeline_name=self.pipeline_name,
            dataset_name=self.dataset_name,
            workdir=WorkDir(self.working_dir),
            schema_files=SchemaFiles.at(self.import_schema_path, self.export_schema_path),
            restore_from_destination=self.config.restore_from_destination,
            runtime=self._runtime,
            collector=self.collector,
            frame_engine=SparkFrameEngine(),
        )

    def _require_destination(self) -> Destination:
        if self.destination is None:
            raise PipelineConfigMissing(pipeline_name=self.pipeline_name)
        return self.destination

    def _target(self) -> Target:
        destination = self._require_destination()
        return late_imports.target.open_target(
            destination, self._context(), spark=self._spark, staging=self.staging
        )

    def _workspace(self) -> Workspace | None:
        """Return the pipeline at its destination; None while it has no destination."""
        if self.destination is None:
            return None
        return late_imports.workspace.Workspace(self._target(), spark=self._spark)

    def _unbound_packages(self, settings: ExtractConfiguration | None = None) -> UnboundPackages:
        settings = settings or resolve_extract_settings(self.pipeline_name)
        return late_imports.unbound_packages.UnboundPackages(self._context(), settings.package_storage)

    def _package_listing(self) -> PackageListing:
        unbound, workspace = self._unbound_packages().packages, self._workspace()
        locations = (unbound,) if workspace is None else (unbound, workspace.packages)
        return late_imports.package_listing.PackageListing(locations)

    def _state_view(self) -> StateView:
        return late_imports.state_view.StateView(self._unbound_packages(), self._workspace())


def active_pipeline() -> Pipeline | None:
    """Return the pipeline that runs or was activated last; None where none is active."""
    return cast("Pipeline | None", current_context().pipeline)
