"""The entry points of users: `penstock.pipeline`, `attach`, `run` and `dataset`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import pipelines_folder
from penstock.errors import CannotRestorePipelineException, InvalidDatasetName
from penstock.interfaces import Destination, check_refresh
from penstock.pipeline import late_imports
from penstock.pipeline.configuration import configured_destination, resolve_pipeline_configuration
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.last_target import LastTarget
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.pipeline import Pipeline, active_pipeline
from penstock.pipeline.workdir import WorkDir, check_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset, DatasetSchema
    from penstock.extract.plan import OnError
    from penstock.interfaces import TDestinationReference
    from penstock.interfaces.capabilities import TLoaderFileFormat
    from penstock.interfaces.check import Check
    from penstock.interfaces.hints import NestedValues
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.progress import Collector
    from penstock.load.report import LoadInfo
    from penstock.pipeline.types import (
        TAnySchemaColumns,
        TColumnNames,
        TDestinationReferenceArg,
        TRefreshMode,
        TSchemaContract,
        TWriteDispositionConfig,
    )
    from penstock.schema import Schema


def pipeline(  # noqa: PLR0913, PLR0917 - the arguments are dlt's
    pipeline_name: str | None = None,
    pipelines_dir: str | Path | None = None,
    pipeline_salt: str | None = None,
    destination: TDestinationReferenceArg = None,
    staging: TDestinationReferenceArg = None,
    dataset_name: str | None = None,
    import_schema_path: str | Path | None = None,
    export_schema_path: str | Path | None = None,
    dev_mode: bool = False,  # noqa: FBT001, FBT002 - dlt's
    refresh: TRefreshMode | None = None,
    progress: str | Collector | None = None,
    *,
    spark: SparkSession | None = None,
    hooks: Sequence[RunHooks] = (),
    gates: Sequence[Check] = (),
) -> Pipeline:
    """Create a pipeline: a name, a destination, a dataset, and a Spark session.

    The dataset has the name of the pipeline unless `dataset_name` is given. Without `spark` the active
    session is used, and without one a session is built from the `[spark]` settings: local by default.
    `progress` shows the progress of runs: `"rich"`, `"log"`, `"tqdm"`, `"none"` or a collector; the default
    is a live view in a terminal. Each of `hooks` is called when a run starts, when a package completes a
    step, when a step fails and when the run ends. `gates` are bounds for the rows of each load, of
    `penstock.gates`.

    `staging` is a destination in whose bucket packages are stored. Schemas are read from files in
    `import_schema_path`, and written to `export_schema_path` for people to read. In `dev_mode` each new
    pipeline loads to a separate dataset and starts with an empty state. `pipeline_salt` is for functions that
    hash secrets. `refresh` applies to every run. Other values are looked up in the settings, in the sections
    `[pipelines.<name>]` and `[pipelines]`.

    The pipeline becomes the active one. Without any argument the active one, if any, is returned.

    >>> pipeline("quick", destination="delta").dataset_name
    'quick'
    >>> pipeline().pipeline_name
    'quick'
    """
    arguments = (
        *(pipeline_name, pipelines_dir, pipeline_salt, destination, staging, dataset_name),
        *(import_schema_path, export_schema_path, dev_mode or None, refresh, progress, spark, hooks or None),
        gates or None,
    )
    active = active_pipeline()
    if isinstance(active, Pipeline) and all(argument is None for argument in arguments):
        return active
    name = pipeline_name or resolve_pipeline_configuration(None).pipeline_name or _default_name()
    config = resolve_pipeline_configuration(name)
    created = Pipeline(
        name,
        _resolve_pipelines_dir(pipelines_dir or config.pipelines_dir),
        pipeline_salt or config.pipeline_salt,
        configured_destination(destination, config.destination_type, config.destination_name),
        configured_destination(staging, config.staging_type, config.staging_name),
        dataset_name or config.dataset_name,
        import_schema_path or config.import_schema_path,
        export_schema_path or config.export_schema_path,
        dev_mode=dev_mode or config.dev_mode,
        progress=progress or config.progress,
        must_attach_to_local_pipeline=False,
        config=config,
        runtime=None,
        refresh=refresh or check_refresh(config.refresh),
        spark=spark,
        hooks=hooks,
        gates=gates,
    )
    created.activate()
    return created


def attach(
    pipeline_name: str | None = None,
    pipelines_dir: str | Path | None = None,
    pipeline_salt: str | None = None,
    destination: TDestinationReferenceArg = None,
    staging: TDestinationReferenceArg = None,
    progress: str | Collector | None = None,
    dataset_name: str | None = None,
    *,
    spark: SparkSession | None = None,
) -> Pipeline:
    """Return a pipeline that ran before, on this machine or elsewhere, and make it the active one.

    If this machine has its working folder, the names of destination and dataset and the bucket of staging
    are those of its last run from here, or of the last `sync_destination`, or else those of the settings. The
    bucket of the destination is that of the last run too, unless the settings have an absolute one. Other
    arguments of a destination come from the settings only. Elsewhere destination and dataset are required,
    and the destination must have a load of the pipeline. `dataset_name` is used as it is, without a layout.

    >>> attach("quick", destination="delta").has_pending_data  # doctest: +SKIP
    False
    """
    name = pipeline_name or resolve_pipeline_configuration(None).pipeline_name or _default_name()
    config = resolve_pipeline_configuration(name)
    folder = _resolve_pipelines_dir(pipelines_dir or config.pipelines_dir)
    local = LocalPipeline(folder / check_name(name))
    last, problem = LastTarget.try_load(WorkDir(local.path))
    if problem is not None and (destination is None or dataset_name is None):
        raise problem
    destination = configured_destination(
        destination or last.destination(name), config.destination_type, config.destination_name
    )
    reason = _missing_argument_reason(local, last, destination, staging)
    if reason is not None:
        raise CannotRestorePipelineException(pipeline_name=name, working_dir=str(local.path), reason=reason)
    dataset_name = dataset_name or last.dataset_name
    attached = Pipeline(
        name,
        folder,
        pipeline_salt or config.pipeline_salt,
        destination,
        configured_destination(staging or last.staging, config.staging_type, config.staging_name),
        dataset_name or config.dataset_name,
        config.import_schema_path,
        config.export_schema_path,
        dev_mode=False,
        progress=progress or config.progress,
        must_attach_to_local_pipeline=destination is None,
        # This is the name of an existing dataset already: no layout is applied.
        config=config.model_copy(update={"dataset_name_layout": None}) if dataset_name else config,
        runtime=None,
        spark=spark,
    )
    reason = None if local.exists else _missing_load_reason(attached)
    if reason is not None:
        raise CannotRestorePipelineException(
            pipeline_name=name, working_dir=attached.working_dir, reason=reason
        )
    attached.activate()
    return attached


def _resolve_pipelines_dir(pipelines_dir: str | Path | None) -> Path:
    return Path(pipelines_dir).absolute() if pipelines_dir is not None else pipelines_folder()


def _missing_load_reason(pipeline: Pipeline) -> str | None:
    """Return why a pipeline without a working folder cannot be attached to; None where it can."""
    if pipeline.destination is not None and pipeline.first_run:
        return (
            f"{pipeline.destination.destination_name} has no load of it in dataset {pipeline.dataset_name!r}"
        )
    return None


def _missing_argument_reason(
    local: LocalPipeline, last_target: LastTarget, destination: Any, staging: TDestinationReferenceArg
) -> str | None:
    """Return which argument a pipeline that ran here needs, as its folder lacks it; None where it has all."""
    if destination is None and local.state is not None:
        return "its working folder does not name the destination that it loads to; pass destination"
    if staging is None and last_target.staging_name is not None and last_target.staging_bucket is None:
        staging = last_target.staging_name
        return f"the address of its {staging} staging has credentials, which are not stored; pass staging"
    return None


def run(  # noqa: PLR0913 - the arguments are those of the method
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
    commit_interval: float | timedelta | None = None,
    spark: SparkSession | None = None,
) -> LoadInfo:
    """Run the active pipeline, or one with the name of the script: `penstock.run(rows, table_name="items")`.

    The other arguments are those of `Pipeline.run`; `spark` is the user's session from this call on.

    >>> run([{"id": 1}], destination="delta", table_name="items")  # doctest: +SKIP
    """
    active = active_pipeline()
    current = active if isinstance(active, Pipeline) else pipeline(spark=spark)
    if spark is not None:
        current._spark = spark  # noqa: SLF001 - the class has no public setter
    return current.run(
        data,
        destination=destination,
        staging=staging,
        dataset_name=dataset_name,
        credentials=credentials,
        table_name=table_name,
        write_disposition=write_disposition,
        columns=columns,
        primary_key=primary_key,
        schema=schema,
        loader_file_format=loader_file_format,
        table_format=table_format,
        schema_contract=schema_contract,
        refresh=refresh,
        nested=nested,
        on_error=on_error,
        commit_interval=commit_interval,
    )


def dataset(
    destination: TDestinationReference,
    dataset_name: str,
    schema: DatasetSchema = None,
    *,
    spark: SparkSession | None = None,
    consistent: bool = True,
) -> Dataset:
    """Return a dataset for reading, without a pipeline; only complete loads, unless `consistent=False`.

    `schema`, a schema or the name of a stored one, or several of them, limits it to their tables.

    >>> from penstock.destinations import delta
    >>> lake = dataset(delta(bucket_url="/nowhere"), "demo")  # doctest: +SKIP
    >>> lake["items"].df()  # doctest: +SKIP
    """
    check_name(dataset_name, InvalidDatasetName)
    context = PipelineContext(
        pipeline_name=dataset_name,
        dataset_name=dataset_name,
        workdir=WorkDir(pipelines_folder() / dataset_name),
    )
    target = late_imports.target.open_target(Destination.from_reference(destination), context, spark=spark)
    return late_imports.workspace.open_dataset(target, spark=spark, consistent=consistent, schema=schema)


def _default_name() -> str:
    script = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] else ""
    return f"penstock_{script}" if script.isidentifier() else "penstock"
