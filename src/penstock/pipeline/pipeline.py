"""The `Pipeline`: the object that users create, run and inspect."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.config import (
    ConfigValue,
    TSecretValue,
    config_value,
    enter_scope,
    in_scope,
    known_sections,
    logger,
)
from penstock.errors import (
    CannotRestorePipelineException,
    LoadPackageNotFound,
    PipelineConfigMissing,
    PipelineNotActive,
    UsageError,
)
from penstock.interfaces import Destination, JobClientBase, SqlClientBase, TLoaderFileFormat, check_refresh
from penstock.interfaces.gates import checked_gates
from penstock.interfaces.run_context import activate_in_process, current_context, override_context
from penstock.pipeline import late_imports
from penstock.pipeline.arguments import (
    check_dispositions,
    check_file_format,
    check_file_formats,
    resolve_extract_settings,
)
from penstock.pipeline.configuration import PipelineConfiguration, resolve_salt
from penstock.pipeline.context import PipelineContext, format_dataset_name, names_of
from penstock.pipeline.frame_engine import SparkFrameEngine
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.progress import _Collector, resolve_collector
from penstock.pipeline.schema_files import SchemaFiles
from penstock.pipeline.signals import interrupt_on_sigterm
from penstock.pipeline.trace import PipelineTrace, TraceHistory
from penstock.pipeline.types import (
    SupportsPipeline,
    TAnySchemaColumns,
    TColumnNames,
    TDestination,
    TDestinationReferenceArg,
    TRefreshMode,
    TSchemaContract,
    TWriteDispositionConfig,
)
from penstock.pipeline.workdir import WorkDir, check_name
from penstock.schema import NamingConvention, Schema, TSchemaTables
from penstock.schema.destination_names import DestinationNames, find_destination_names_by
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset, DatasetSchema
    from penstock.extract.plan import OnError
    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.interfaces.check import Check
    from penstock.interfaces.hints import NestedValues
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.progress import Collector
    from penstock.load.report import LoadInfo
    from penstock.normalize.report import NormalizeInfo
    from penstock.package import LoadJobInfo, LoadPackageInfo, TJobState, TLoadPackageState
    from penstock.package.lease import LeaseStatus
    from penstock.pipeline.abort import TAbortPlan
    from penstock.pipeline.adopt import Adoption
    from penstock.pipeline.adopt_files import ChangedFiles
    from penstock.pipeline.drop_resources import ResourceDrop
    from penstock.pipeline.execution import Execution
    from penstock.pipeline.package_listing import PackageListing
    from penstock.pipeline.plan import LoadPlan
    from penstock.pipeline.planning import PlanExecution
    from penstock.pipeline.recorder import Recorder
    from penstock.pipeline.replay import QuarantineReplay
    from penstock.pipeline.settings import RunConfiguration
    from penstock.pipeline.state import StateInjectableContext, TPipelineState
    from penstock.pipeline.state_changes import StateChange
    from penstock.pipeline.state_view import StateView
    from penstock.pipeline.target import Target
    from penstock.pipeline.trace import TPipelineStep
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.pipeline.undo import LoadUndo
    from penstock.pipeline.workspace import Workspace


# The public names, with those in the signatures of the page.
__all__ = [
    "ConfigValue",
    "ExtractInfo",
    "JobClientBase",
    "LoadInfo",
    "LoadJobInfo",
    "LoadPackageInfo",
    "NamingConvention",
    "NormalizeInfo",
    "Pipeline",
    "PipelineConfiguration",
    "PipelineTrace",
    "RunConfiguration",
    "Schema",
    "SqlClientBase",
    "StateInjectableContext",
    "SupportsPipeline",
    "TAnySchemaColumns",
    "TColumnNames",
    "TDestination",
    "TDestinationReferenceArg",
    "TLoadPackageState",
    "TLoaderFileFormat",
    "TPipelineState",
    "TRefreshMode",
    "TSchemaContract",
    "TSchemaTables",
    "TSecretValue",
    "TWriteDispositionConfig",
    "_Collector",
    "active_pipeline",
    "known_sections",
]

_LOG = logger("penstock.pipeline")
_LOAD_WORKERS: Final = 20
"""The default of `load(workers=)`, as in the setting: any other value replaces the setting."""


def __getattr__(name: str) -> Any:
    """Return a name of the page's signatures whose module `import penstock` must not import."""
    return late_imports.signature_name(name)


class Pipeline(SupportsPipeline):
    """Moves data to one dataset of one destination, load by load.

    Created by `penstock.pipeline` and `penstock.attach`.

    >>> from penstock.pipeline.factory import pipeline
    >>> pipeline("quick", destination="delta", dataset_name="demo")
    <penstock.Pipeline 'quick' to delta dataset 'demo'>
    """

    pipeline_name: str
    """The name of the pipeline, of its working folder and of its state."""
    pipelines_dir: str
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
        gates: Sequence[Check] = (),
    ) -> None:
        """Use `penstock.pipeline` or `penstock.attach`, which fill in values of the settings."""
        self.pipeline_name = check_name(pipeline_name)
        self.pipelines_dir = str(pipelines_dir)
        self.pipeline_salt = resolve_salt(pipeline_name, pipeline_salt)
        self.destination = Destination.from_reference(destination)
        self.staging = Destination.from_reference(staging)
        self.import_schema_path, self.export_schema_path = import_schema_path, export_schema_path
        self.dev_mode, self.refresh = dev_mode, check_refresh(refresh)
        self.config, self._runtime = config, runtime
        self.collector = resolve_collector(progress)
        self._spark, self._hooks, self._gates = spark, tuple(hooks), checked_gates(gates)
        self._init_arguments = {"pipeline_salt": pipeline_salt, "dataset_name": dataset_name}
        if must_attach_to_local_pipeline and not LocalPipeline(Path(self.working_dir)).exists:
            raise CannotRestorePipelineException(
                pipeline_name=pipeline_name,
                working_dir=self.working_dir,
                reason="this machine has no working folder of it",
            )
        self._reset()

    def _reset(self) -> None:
        """Reset to the state of a newly created pipeline."""
        self._last_trace: PipelineTrace | None = None
        self._dev_since = datetime.now(UTC) if self.dev_mode else None
        self.dataset_name = format_dataset_name(
            self._init_arguments["dataset_name"] or self.pipeline_name,
            layout=self.config.dataset_name_layout,
            dev_since=self._dev_since,
        )
        if self.dev_mode:
            self._workdir().reset()

    def __repr__(self) -> str:
        to = self.destination.destination_name if self.destination else "no destination,"
        return f"<penstock.Pipeline {self.pipeline_name!r} to {to} dataset {self.dataset_name!r}>"

    @property
    def working_dir(self) -> str:
        """The local folder of this pipeline: caches, and packages without a destination."""
        return str(Path(self.pipelines_dir) / self.pipeline_name)

    def _workdir(self) -> WorkDir:
        return WorkDir(Path(self.working_dir))

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
        gates: Sequence[Check] = (),
    ) -> LoadInfo:
        """Extract, normalize and load `data`; or only load pending packages, if an earlier run left some.

        Pending packages are normalized and loaded, and the run ends: the result reports that `data` was not
        extracted, and the next run extracts it. With the setting `run.pending="continue"` one run does both.

        `data` is a source, a resource, a list of them, or rows: a list, an iterator, a generator, a function
        that returns one of these, or a frame. A row is a dict, or a value for the column `value`. Nested
        dicts are flattened into columns, nested lists become separate tables. `table_name` is required if the
        data has no name. Hints apply to every resource and replace its own. Without data only pending
        packages are loaded.

        `destination`, `staging`, `dataset_name` and `credentials` apply to this call and later ones.
        `loader_file_format` is the format of plain files: `parquet`, `jsonl` or `csv`; a table never changes
        it. `schema_contract` replaces those of sources and resources, for all tables of this run.
        `nested="keep"` keeps structs, lists and maps of frames as nested columns.

        `refresh` starts from scratch: `drop_sources` drops all tables and the whole state of each source,
        `drop_resources` those of the extracted resources, and `drop_data` deletes their rows and their state.
        The commits that write the new rows delete the old ones, never an earlier step.

        A job that fails for good does not raise: its chain of tables is left out, and the result has
        `has_failed_jobs` and `raise_on_failed_jobs()`. With the setting `load.raise_on_failed_jobs=true` the
        run raises, and the package remains pending.

        With `on_error="continue"` a resource that raises is left out of the load, and the result reports it.
        With `commit_interval`, in seconds, rows are loaded at this interval while extraction continues. Both
        can be settings of the section `extract`.

        `gates`, such as `penstock.gates.row_count("orders", minimum=1)`, are bounds for the rows of the load,
        besides those of the pipeline. They are checked before the load is published.
        """
        self._bind(destination, dataset_name, staging, credentials)
        check_file_format(loader_file_format)
        with self._record_call("run") as recorder, self._extra_gates(gates):
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
            check_file_formats(flows, self._require_destination(), is_staged=self.staging is not None)
            extract_settings = resolve_extract_settings(
                self.pipeline_name, on_error=on_error, commit_interval=commit_interval
            )
            self._execution(recorder, extract_settings).run(self._with_gates(flows))
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
        """Extract `data` into a package, which the next `run` normalizes and loads.

        The destination need not be known. The package is then stored in the working folder, or in
        `extract.package_storage` of the settings, and a later run transfers it to its destination. Spark is
        not started for Python rows. The arguments are those of `run`; `workers` and `max_parallel_items`
        replace settings of the section `extract`. `parent_table_name` nests the table in another.
        """
        with self._record_call("extract") as recorder:
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
            settings = resolve_extract_settings(
                self.pipeline_name, max_parallel_items=max_parallel_items, workers=workers, on_error=on_error
            ).model_copy(update={"commit_interval": None})
            if self.destination is not None:
                check_dispositions(flows, self.destination)
                check_file_formats(flows, self.destination, is_staged=self.staging is not None)
                return self._execution(recorder, settings).extract(self._with_gates(flows))
            return self._unbound_packages(settings).extract(flows, settings=settings, recorder=recorder)

    def normalize(
        self, workers: int = 1, loader_file_format: TLoaderFileFormat | None = None
    ) -> NormalizeInfo:
        """Normalize extracted packages, which `load` then loads. The destination must be known.

        `loader_file_format` is the default format of plain files, as in `run`. `workers` has no effect: Spark
        distributes the work.
        """
        del workers
        check_file_format(loader_file_format)
        with self._record_call("normalize") as recorder:
            destination, is_staged = self._require_destination(), self.staging is not None
            check_file_formats((), destination, default=loader_file_format, is_staged=is_staged)
            self._execution(recorder, file_format=loader_file_format).normalize()
            return recorder.normalize_info()

    def load(
        self,
        destination: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
        credentials: Any = None,
        *,
        workers: int = _LOAD_WORKERS,
        raise_on_failed_jobs: bool = False,
    ) -> LoadInfo:
        """Load normalized packages.

        At most `workers` jobs run in parallel. A chain of tables with a job that failed for good is left out,
        and the result reports it; with `raise_on_failed_jobs=True` the job stops the load, which
        remains pending. An argument that is not the default replaces the setting in the section `load`.
        """
        self._bind(destination, dataset_name, credentials=credentials)
        with self._record_call("load") as recorder:
            overrides: dict[str, Any] = {}
            if workers != _LOAD_WORKERS:
                overrides["workers"] = workers
            if raise_on_failed_jobs:
                overrides["raise_on_failed_jobs"] = True
            self._execution(recorder, load_overrides=overrides).load()
            return recorder.load_info()

    # --- plans

    def plan(  # noqa: PLR0913 - the arguments of `run`
        self,
        data: Any,
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
        gates: Sequence[Check] = (),
    ) -> LoadPlan:
        """Extract and normalize `data`, and return what its load would change; no table is changed.

        The arguments are those of `run`. The plan has the rows that each table would get and lose, and the
        schema changes with their rules. `apply` publishes its package; a run does not load it. It waits for
        some days (`plan.expires_after`), and is out of date once the tables or the state have changed. The
        next run reads its rows again, unless it was applied. Refused while packages are pending.
        """
        self._bind(destination, dataset_name, staging, credentials)
        check_file_format(loader_file_format)
        with self._record_call("extract") as recorder, self._extra_gates(gates):
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
            check_file_formats(flows, self._require_destination(), is_staged=self.staging is not None)
            settings = resolve_extract_settings(self.pipeline_name, on_error=on_error)
            settings = settings.model_copy(update={"commit_interval": None})
            return self._plan_execution(recorder, settings).plan(self._with_gates(flows))

    def apply(self, plan: LoadPlan | str) -> LoadInfo:
        """Publish the packages of a plan, or of the plan with a load id, as they are.

        Raises `PlanOutdated` with what has changed if the tables, the schema or the state are not those of
        the plan any more, and `PlanExpired` if it is too old. An apply that was interrupted is completed by
        another one, or by the next run.
        """
        load_ids = (plan,) if isinstance(plan, str) else plan.load_ids
        with self._record_call("load") as recorder:
            self._plan_execution(recorder).apply(load_ids)
            return recorder.load_info()

    def list_plans(self) -> Sequence[LoadPlan]:
        """Return the plans that wait for `apply`, oldest first: one for each package."""
        workspace = self._workspace()
        return [] if workspace is None else late_imports.planning.list_plans(workspace.packages)

    def drop_plan(self, plan: LoadPlan | str) -> None:
        """Delete the packages of a plan, or of the plan with a load id. No table is changed."""
        load_ids = (plan,) if isinstance(plan, str) else plan.load_ids
        with self._run_context():
            packages = late_imports.workspace.Workspace(self._target(), spark=self._spark).packages
            arguments = self._lease_arguments()
            late_imports.planning.drop_plans(
                packages, load_ids, pipeline=arguments["pipeline_name"], times=arguments["lease_times"]
            )

    def _plan_execution(
        self, recorder: Recorder, extract_settings: ExtractConfiguration | None = None
    ) -> PlanExecution:
        settings = extract_settings or resolve_extract_settings(self.pipeline_name)
        return late_imports.planning.PlanExecution(
            self._target(),
            self._unbound_packages(settings),
            recorder,
            spark=self._spark,
            extract_settings=settings,
            load_overrides={},
            gates=self._gates,
        )

    @property
    def last_trace(self) -> PipelineTrace | None:
        """The trace of the last run that ended, successful or not; None before it.

        The last run of this object, or else of this machine. A run that was killed has no trace: `penstock
        pipeline NAME info` shows when it began.
        """
        return self._last_trace or self._history().last()

    def traces(self) -> Iterator[PipelineTrace]:
        """Return the traces of the last hundred runs on this machine, newest first."""
        return self._history().traces()

    # --- packages

    @property
    def has_data(self) -> bool:
        """Whether a schema, a package or a load at the destination exists."""
        return (
            not self._state_view().is_new or self.has_pending_data or bool(self.list_retained_load_packages())
        )

    @property
    def has_pending_data(self) -> bool:
        """Whether a package is pending: not yet normalized, or not yet loaded."""
        return self._package_listing().has_pending

    @property
    def first_run(self) -> bool:
        """Whether no load of this pipeline is complete yet."""
        return not self.list_retained_load_packages() and self._state_view().is_new

    def list_extracted_resources(self) -> Sequence[str]:
        """Return the files with extracted rows. Deprecated: use `list_extracted_load_packages`."""
        warnings.warn(
            "list_extracted_resources() is deprecated: use list_extracted_load_packages()",
            category=DeprecationWarning,
            stacklevel=2,
        )
        return self._package_listing().extracted_files()

    def list_extracted_load_packages(self) -> Sequence[str]:
        """Return the ids of extracted packages, which are to be normalized."""
        return self._package_listing().extracted_ids()

    def list_normalized_load_packages(self) -> Sequence[str]:
        """Return the ids of normalized packages, which are to be loaded."""
        return self._package_listing().normalized_ids()

    def list_completed_load_packages(self) -> Sequence[str]:
        """Return the ids of all loaded packages, oldest first.

        The destination lists them, also those whose control files are deleted (`run.keep_packages`).
        """
        retained = self.list_retained_load_packages()
        workspace = self._workspace()
        if workspace is None:
            return retained
        with workspace.client:
            return sorted({*retained, *workspace.completed_load_ids(besides=retained)})

    @property
    def current_lease(self) -> LeaseStatus | None:
        """The process of the run that holds the lease of the pipeline; None if no run is active.

        The lease of a process that was killed is expired, and is held until the next run.
        """
        return self._package_listing().lease_status()

    def list_retained_load_packages(self) -> Sequence[str]:
        """Return the ids of loaded packages whose control files are kept, oldest first."""
        return self._package_listing().completed_ids()

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """Return a package, with all jobs and their states."""
        return self._package_listing().info(load_id)

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """Return the state of a package."""
        return self._package_listing().state(load_id)

    def list_failed_jobs_in_package(self, load_id: str) -> Sequence[LoadJobInfo]:
        """Return the jobs of a package that failed, with messages; also those that will be retried."""
        return self._package_listing().failed_jobs(load_id)

    def drop_pending_packages(self, with_partial_loads: bool = True) -> None:  # noqa: FBT001, FBT002 - the page's
        """Delete pending packages: extracted, normalized, and partially loaded.

        Tables with rows of a partial load are rolled back, by one commit each. Nothing is dropped if another
        writer has changed one of them since: the error names the table. With `with_partial_loads=False` a
        load that has started is kept, and the next `run` resumes it.

        State and schema are then those of the last complete load, so the next `run` extracts the dropped rows
        again.
        """
        self._drop_pending(with_partial_loads=with_partial_loads)

    def _drop_pending(self, *, with_partial_loads: bool = True, from_load_id: str = "") -> None:
        with self._run_context():
            unbound = self._unbound_packages()
            if self.destination is None:
                unbound.drop(from_load_id)
                return
            late_imports.drop.drop_pending(
                self._target(),
                unbound,
                spark=self._spark,
                with_partial_loads=with_partial_loads,
                from_load_id=from_load_id,
            )

    def abort_packages(self, load_id: str | None = None, dry_run: bool = False) -> TAbortPlan | None:  # noqa: FBT001, FBT002 - dlt's signature
        """Abort pending packages: all, or that with an id and those after it; older ones stay.

        A load that has begun is rolled back and remains as an aborted package, the others are deleted. State
        and schemas are then those before the oldest of them. Returns what was dropped, or with `dry_run` what
        would be; None if nothing was pending.
        """
        listing = self._package_listing()
        pending = [listing.info(pending_id) for pending_id in listing.pending_ids()]
        if load_id is not None and load_id not in {package.load_id for package in pending}:
            raise LoadPackageNotFound(load_id=load_id, path=listing.location_of(load_id).store.root)
        plan = late_imports.abort.plan_abort(late_imports.abort.packages_from(pending, load_id))
        if plan is not None and not dry_run:
            self._drop_pending(from_load_id=load_id or "")
        return plan

    def list_pending_retry_jobs_in_package(self, load_id: str) -> Sequence[tuple[str, TJobState]]:
        """Return the jobs of a package that were tried and are to be tried again: file names and states.

        Only those in `new_jobs` can be passed to `fail_pending_job`.
        """
        return self._package_listing().retried_jobs(load_id)

    def retry_failed_job(self, load_id: str, job_file_name: str) -> str:
        """Try a job again that `fail_pending_job` has failed; return the address of the job file."""
        return late_imports.job_changes.retry_failed_job(
            self._package_listing().location_of(load_id), load_id, job_file_name, **self._lease_arguments()
        )

    def fail_pending_job(self, load_id: str, job_file_name: str) -> str:
        """Fail a job that waits for another try; return the address of the job file.

        The next load leaves out its chain of tables and rolls back what it wrote.
        """
        return late_imports.job_changes.fail_pending_job(
            self._package_listing().location_of(load_id), load_id, job_file_name, **self._lease_arguments()
        )

    def _lease_arguments(self) -> dict[str, Any]:
        return {"pipeline_name": self.pipeline_name, "lease_times": self._unbound_packages().lease_times}

    def undo(
        self, load_id: str | None = None, *, last: int = 1, force: bool = False, dry_run: bool = False
    ) -> LoadUndo:
        """Undo the last complete load, or the last ones, by a separate load.

        Each table returns to the version before these loads by a new commit, and tables that they created are
        dropped. Schema and state are those before, so the next `run` extracts the undone rows again.
        `load_id` is the oldest load to undo. Undos and undone loads do not count.

        Refused, with nothing changed, if a version is gone or another writer has changed a table since.
        `force` overwrites such changes. Returns what was done, or with `dry_run` what would be.
        """
        if dry_run:
            with self._run_context():
                workspace = late_imports.workspace.Workspace(self._target(), spark=self._spark)
                try:
                    return late_imports.undo.preview_undo(workspace, load_id=load_id, last=last)
                finally:
                    workspace.close()
        with self._record_call("load") as recorder:
            return self._execution(recorder).undo(load_id=load_id, last=last, force=force)

    def replay_quarantine(
        self,
        table: str | None = None,
        rule: str | None = None,
        *,
        schema_contract: TSchemaContract | None = None,
        dry_run: bool = False,
    ) -> QuarantineReplay:
        """Load the rows of `_dlt_quarantine` again, by today's schema and contract, after pending packages.

        Each row is loaded once, and leaves the quarantine with the same load. A row that is refused again
        remains there with both reasons, and so do nested rows and rows that are no JSON. `table` and `rule`,
        such as `columns: discard_row` or `columns`, select rows. `schema_contract` replaces the stored
        contracts, as in `run`. Returns what was done, or with `dry_run` what would be tried.
        """
        if dry_run:
            with self._run_context():
                workspace = late_imports.workspace.Workspace(self._target(), spark=self._spark)
                try:
                    return late_imports.replaying.preview_replay(workspace, table=table, rule=rule)
                finally:
                    workspace.close()
        with self._record_call("load") as recorder:
            settings = resolve_extract_settings(self.pipeline_name, on_error="raise")
            execution = late_imports.replaying.ReplayExecution(
                self._target(),
                self._unbound_packages(settings),
                recorder,
                spark=self._spark,
                extract_settings=settings.model_copy(update={"commit_interval": None}),
                load_overrides={},
            )
            return execution.replay(table=table, rule=rule, contract=schema_contract)

    def drop_resources(
        self,
        *resources: str,
        schema_name: str | None = None,
        drop_all: bool = False,
        state_paths: Sequence[str] = (),
        state_only: bool = False,
        dry_run: bool = False,
    ) -> ResourceDrop:
        """Drop the tables and the state of resources, by one load; the next run extracts them from scratch.

        A resource is a name, or a pattern such as `re:^repo_`; `drop_all` is all of a schema. `state_paths`
        are keys of the state of the source, such as `cursor` or `pages.last`. With `state_only` tables stay.
        Returns what was dropped, or with `dry_run` what would be. Refused while packages are pending.
        """
        with self._run_context():
            target, state = self._target(), self.state
            plan = late_imports.drop_resources.plan_drop(
                self.default_schema if schema_name is None else self.schemas[schema_name],
                state,
                resources=resources,
                drop_all=drop_all,
                state_paths=state_paths,
                state_only=state_only,
            )
            if dry_run or plan.is_empty:
                return plan
            packages = late_imports.workspace.Workspace(target, spark=self._spark).packages
            late_imports.drop_resources.save_as_package(plan, state, packages, **self._lease_arguments())
        self.run()
        return plan

    def adopt(  # noqa: PLR0913 - one method for all that a table continues from
        self,
        table: str,
        *,
        cursor: str | None = None,
        primary_key: str | Sequence[str] = (),
        resource: str | None = None,
        source: str | None = None,
        cursor_path: str | None = None,
        cursor_format: str | None = None,
        checkpoint: str | None = None,
        files: str | None = None,
        file_glob: str = "**",
        changed_files: ChangedFiles = "refuse",
        credentials: Any = None,
        dry_run: bool = False,
    ) -> Adoption:
        """Take over an existing Delta or Iceberg table of the dataset, unchanged, by one load without rows.

        Its columns become those of the schema, and the greatest value of the column `cursor` the last value
        of the cursor of a resource, by default named like the table. `source` names the schema. The next run
        reads from that value on, and recognizes the rows that have it by the `primary_key` of the resource.
        `cursor_path` is the path in the source, if the column has another name, and `cursor_format` the
        format of its timestamps, if the source has texts.

        `checkpoint` is that of a query of Structured Streaming that filled the table from files: a resource
        of `files` then reads none of them again. `files`, `file_glob` and `credentials` are the arguments of
        that resource. Files that were changed since the query read them are refused, or with `changed_files`
        skipped or read again.

        Returns what was recorded, or with `dry_run` what would be.
        """
        if (checkpoint is None) != (files is None):
            raise UsageError(
                "checkpoint and files belong together",
                hint="pass the folder of checkpointLocation, and the bucket_url that the query reads",
            )
        if self.has_pending_data and not dry_run:
            raise UsageError(
                f"packages of {self.pipeline_name!r} are pending",
                hint="load them with run(), or drop them with abort_packages(), then adopt the table",
            )
        with self._run_context():
            workspace = late_imports.workspace.Workspace(self._target(), spark=self._spark)
            try:
                adoption = late_imports.adopt.plan_adoption(
                    workspace,
                    table,
                    cursor=cursor,
                    primary_key=primary_key,
                    resource=resource,
                    source=source,
                    cursor_path=cursor_path,
                    cursor_format=cursor_format,
                    files=None
                    if checkpoint is None or files is None
                    else late_imports.adopt_files.plan_file_adoption(
                        checkpoint,
                        files,
                        file_glob=file_glob,
                        changed_files=changed_files,
                        credentials=credentials,
                    ),
                )
                if dry_run:
                    return adoption
                times = self._unbound_packages().lease_times
                load_id = late_imports.adopt.save_adoption(adoption, workspace, lease_times=times)
            finally:
                workspace.close()
        self.run()
        return replace(adoption, load_id=load_id)

    # --- state and schemas

    @property
    def state(self) -> dict[str, Any]:
        """The state as it will be once all pending packages are loaded; a copy."""
        return self._state_view().state

    def kept_state(self) -> dict[str, Any]:
        """Return the state as stored on this machine, without access to the destination; a copy.

        Functions of sources that are called outside a run read it while this is the active pipeline.
        """
        return late_imports.restore.local_snapshot(self._context()).state

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by their names."""
        return self._state_view()

    @property
    def default_schema(self) -> Schema:
        """The schema of sources without one."""
        return self._state_view().default_schema

    @property
    def default_schema_name(self) -> str:
        """The name of the default schema."""
        return self.default_schema.name

    @property
    def naming(self) -> NamingConvention:
        """The naming convention of the default schema, with the longest name of the destination."""
        return self.default_schema.naming.with_max_length(names_of(self.destination).max_length)

    def set_local_state_val(self, key: str, value: Any) -> None:
        """Save a value on this machine; it is never loaded."""
        late_imports.state_changes.save_local_value(self._workdir(), key, value)

    def get_local_state_val(self, key: str) -> Any:
        """Return a value of this machine; raise `KeyError` if it was never saved."""
        return self._state_view().local_values[key]

    @contextmanager
    def managed_state(self, *, extract_state: bool = False) -> Iterator[TPipelineState]:
        """Edit the state in a block: below `sources`, below `_local` for this machine, and keys of your own.

        The changes are saved at the end of the block, and discarded if it raises. They are stored on this
        machine and loaded with the next package. With `extract_state` they become packages at once, which any
        machine can load. In the block `penstock.current.source_state()` is part of this state.
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

    def dataset(self, schema: DatasetSchema = None, *, consistent: bool = True) -> Dataset:
        """Return the dataset for reading: `pipeline.dataset()["items"].df()`.

        A dataset shows complete loads only, all tables as of one moment. `consistent=False` shows the current
        tables, with rows of loads that are not complete. `schema`, or several, limits it to their tables.
        """
        return late_imports.workspace.open_dataset(
            self._target(), spark=self._spark, consistent=consistent, schema=schema
        )

    def sql_client(self, schema_name: str | None = None) -> SqlClientBase[Any]:
        """Return a client for Spark SQL on the tables, by their bare names; use it in a `with` block.

        Values for `%s` are bound by the engine. `schema_name` selects the dataset where each schema has one.
        """
        return late_imports.workspace.open_sql_client(
            self._target(), spark=self._spark, schema_name=schema_name
        )

    def destination_client(self, schema_name: str | None = None) -> JobClientBase:
        """Return the client of the destination that loads use; use it in a `with` block.

        It has the tables of the named schema, or of the default one. Its changes belong to no load: `with
        pipeline.destination_client() as client: client.drop_storage()` deletes the dataset, with the pending
        packages in its folder.
        """
        with self._run_context():
            return late_imports.workspace.open_destination_client(
                self._target(), spark=self._spark, schema_name=schema_name
            )

    def reading_client(self) -> JobClientBase:
        """Return a client of the destination without a session: it reads what is stored, and cannot write."""
        with self._run_context():
            return self._target().client()

    def sync_destination(
        self,
        destination: TDestinationReferenceArg = None,
        staging: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
    ) -> None:
        """Update this machine's copies of state and schemas from the destination.

        A state at the destination with a higher version replaces the local one, with the schemas. Packages
        that were extracted here without a destination continue an older state then, and are deleted; the
        setting `run.keep_outdated_packages` keeps them. If the dataset no longer exists, the local state is
        deleted. Packages at the destination are always kept. `run` calls this itself unless the setting
        `restore_from_destination` is false.
        """
        self._bind(destination, dataset_name, staging)
        with self._run_context():
            late_imports.sync.sync_destination(self._target(), self._unbound_packages(), spark=self._spark)

    def sync_schema(self, schema_name: str | None = None) -> TSchemaTables:
        """Create the tables and columns of a schema at the destination; without a name of the default one.

        Existing tables also get the properties, clusters and types of the schema. Returns the update that was
        applied: the tables with the columns that were created or widened.
        """
        with self._run_context():
            return late_imports.sync.sync_schema(self._target(), spark=self._spark, schema_name=schema_name)

    # --- this machine

    def drop(self, pipeline_name: str | None = None) -> Pipeline:
        """Delete the working folder: state, schemas, local values, traces, and the packages in it.

        The destination is unchanged, and so are packages that are stored with its tables or by a setting:
        any machine may load them, and `drop_pending_packages` deletes them. A load from this folder that has
        begun is rolled back first, as `drop_pending_packages` does it. With another name a new pipeline with
        the same arguments is returned. Either becomes the active one.
        """
        self._drop_working_folder()
        name = self.pipeline_name if pipeline_name is None else pipeline_name
        pipeline = self if name == self.pipeline_name else self._clone_as(name)
        pipeline._reset()  # noqa: SLF001 - of the same class
        pipeline.activate()
        return pipeline

    def _drop_working_folder(self) -> None:
        workdir, unbound = self._workdir(), self._unbound_packages()
        if workdir.load_folders:
            target = None if self.destination is None else self._target()
            with self._run_context():
                late_imports.drop.abort_local_loads(workdir, target, unbound, spark=self._spark)
        unbound.drop_local()
        workdir.drop()
        if late_imports.package_listing.PackageListing((unbound.packages,)).has_pending:
            _LOG.warning(
                "pipeline %s still has pending packages in %s: drop_pending_packages() deletes them",
                self.pipeline_name,
                unbound.location,
            )

    def _clone_as(self, pipeline_name: str) -> Pipeline:
        """Return a pipeline with the same arguments and another name."""
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
            gates=self._gates,
            **self._init_arguments,
        )

    def activate(self) -> None:
        """Make this the active pipeline: `penstock.pipeline()` returns it, and settings are looked up for it.

        Only one is active at a time: the last one that was created, attached or run. A section of the
        settings with its name takes precedence over others, and new schemas have the naming convention and
        the longest name of its destination. Threads that activate no pipeline see it too.
        """
        activate_in_process(self)
        enter_scope(pipeline_name=self.pipeline_name)

    def deactivate(self) -> None:
        """Leave no pipeline active; raise `PipelineNotActive` if this one is not."""
        if not self.is_active:
            raise PipelineNotActive(pipeline_name=self.pipeline_name)
        activate_in_process(None)
        enter_scope(pipeline_name="")

    @property
    def is_active(self) -> bool:
        """Whether this is the active pipeline."""
        return active_pipeline() is self

    # --- one call

    @contextmanager
    def _record_call(self, step: TPipelineStep) -> Iterator[Recorder]:
        """Record one call in the history; an error in a step is raised as `PipelineStepFailed`.

        Errors before the first step are attributed to `step`.
        """
        self.activate()
        recorder = late_imports.recorder.Recorder(
            self.pipeline_name, self._hooks, self._history(), pipeline=self
        )
        recorder.default_step = step
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
            # An interrupt is reported and recorded, and raised as it is.
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
        """Set destination, dataset and credentials for this call and later ones."""
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
        """Make this the running pipeline for user code and the configuration in a block."""
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
            load_overrides=load_overrides or {},
            file_format=file_format,
            gates=self._gates,
        )

    @contextmanager
    def _extra_gates(self, gates: Sequence[Check]) -> Iterator[None]:
        """Use more gates for one call."""
        own = self._gates
        self._gates = (*own, *checked_gates(gates))
        try:
            yield
        finally:
            self._gates = own

    def _with_gates(self, flows: Sequence[Flow]) -> tuple[Flow, ...]:
        """Return the flows of a call with its gates: a package carries them until it is loaded."""
        return tuple(replace(flow, gates=self._gates, is_only_one=len(flows) == 1) for flow in flows)

    def _history(self) -> TraceHistory:
        return TraceHistory(Path(self.working_dir) / "traces")

    # --- the parts of a pipeline

    def _context(self) -> PipelineContext:
        return PipelineContext(
            pipeline_name=self.pipeline_name,
            dataset_name=self.dataset_name,
            workdir=self._workdir(),
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


def _active_destination_names() -> DestinationNames:
    """Return what names the destination of the active pipeline can hold."""
    pipeline = active_pipeline()
    return DestinationNames() if pipeline is None else names_of(pipeline.destination)


find_destination_names_by(_active_destination_names)
