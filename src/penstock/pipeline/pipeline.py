"""The `Pipeline`: a façade over the stages."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import config_value, logger
from penstock.errors import CannotRestorePipelineException
from penstock.interfaces import Destination, check_refresh
from penstock.pipeline import late_imports
from penstock.pipeline.arguments import resolve_extract_settings
from penstock.pipeline.capability_checks import check_dispositions, check_file_format
from penstock.pipeline.configuration import salt_of
from penstock.pipeline.handling import Handling
from penstock.pipeline.home import dataset_name_of
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.progress import collector_of
from penstock.pipeline.signals import interrupt_on_sigterm
from penstock.pipeline.trace_history import TraceHistory
from penstock.pipeline.workdir import WorkDir, check_name
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from penstock.extract.plan import OnError
    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.interfaces.hints import NestedValues
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.progress import Collector
    from penstock.load.report import LoadInfo
    from penstock.normalize.report import NormalizeInfo
    from penstock.pipeline.configuration import PipelineConfiguration
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.runner import Runner
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.trace import PipelineTrace
    from penstock.pipeline.types import (
        TAnySchemaColumns,
        TColumnNames,
        TDestinationReferenceArg,
        TRefreshMode,
        TSchemaContract,
        TWriteDispositionConfig,
    )
    from penstock.schema import Schema

_LOG = logger("penstock.pipeline")


class Pipeline(Handling):
    """Moves data to one dataset of one destination, load by load.

    Make one with `penstock.pipeline`.

    >>> from penstock.pipeline.factory import pipeline
    >>> pipeline("quick", destination="delta", dataset_name="demo")
    <penstock.Pipeline 'quick' to delta dataset 'demo'>
    """

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
        self.collector = collector_of(progress)
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
        self.dataset_name = dataset_name_of(
            self._init_arguments["dataset_name"] or self.pipeline_name,
            layout=self.config.dataset_name_layout,
            dev_since=self._dev_since,
        )
        if self.dev_mode:
            WorkDir(self.working_dir).reset()

    def drop(self, pipeline_name: str | None = None) -> Pipeline:
        """Delete what this machine keeps of the pipeline: copies of state and schemas, values, traces.

        The destination is left alone, and so are packages that wait: they are data, and
        `drop_pending_packages` is for them. With another name a new pipeline is given, made like this one.
        Either is the active one from here on.
        """
        workdir = WorkDir(self.working_dir)
        workdir.drop()
        if late_imports.package_listing(None, self._context(), storage=self._package_storage()).has_pending:
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
            self._runner(recorder, resolve_extract_settings(self.pipeline_name, **said)).run(flows)
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
                return self._runner(recorder, extraction).extract(flows)
            return late_imports.extract_unbound(
                flows, self._context(), extract_settings=extraction, recorder=recorder
            )

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
            self._runner(recorder, file_format=loader_file_format).normalize()
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
            self._runner(recorder, load_overrides=said).load()
            return recorder.load_info()

    @contextmanager
    def _record_call(self) -> Iterator[Recorder]:
        """One call: what it comes to is written down, and what fails in a step says in which."""
        self.activate()
        recorder = late_imports.new_recorder(self.pipeline_name, self._hooks, self._history())
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

    def _runner(
        self,
        recorder: Recorder,
        extract_settings: ExtractConfiguration | None = None,
        load_overrides: Mapping[str, Any] | None = None,
        file_format: str | None = None,
    ) -> Runner:
        return late_imports.open_runner(
            self._target(),
            recorder,
            spark=self._spark,
            extract_settings=extract_settings or resolve_extract_settings(self.pipeline_name),
            load_overrides={key: value for key, value in (load_overrides or {}).items() if value is not None},
            file_format=file_format,
        )

    def _history(self) -> TraceHistory:
        return TraceHistory(self.working_dir / "traces")

    def __repr__(self) -> str:
        to = self.destination.destination_name if self.destination else "no destination,"
        return f"<penstock.Pipeline {self.pipeline_name!r} to {to} dataset {self.dataset_name!r}>"
