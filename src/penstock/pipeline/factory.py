"""The functions by which users come in: `penstock.pipeline` and `penstock.dataset`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import pipelines_folder
from penstock.errors import CannotRestorePipelineException, InvalidDatasetName
from penstock.interfaces import Destination, check_refresh
from penstock.pipeline import late_imports
from penstock.pipeline.configuration import configuration_of
from penstock.pipeline.context import PipelineContext
from penstock.pipeline.last_target import LastTarget
from penstock.pipeline.local_pipeline import LocalPipeline
from penstock.pipeline.pipeline import Pipeline, active_pipeline
from penstock.pipeline.workdir import WorkDir, check_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset
    from penstock.extract.plan import OnError
    from penstock.interfaces.capabilities import TLoaderFileFormat
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
) -> Pipeline:
    """Make a pipeline: a name, a destination, a dataset, and a Spark session to work with.

    The dataset is called like the pipeline unless it is named. Without `spark` the active session is used,
    and without one a session is built from the `[spark]` settings: on this machine by default. `progress`
    says how you see how far a run is: `"rich"`, `"log"`, `"tqdm"`, `"none"` or a collector; by default a live view in a terminal. Each of `hooks` is called when a run
    starts, when a package has come through a step, when a step fails and when the run is over.

    `staging` is a destination in whose bucket packages are kept. Schemas are taken from files in
    `import_schema_path`, and written for people to read to `export_schema_path`. In `dev_mode` each pipeline
    that is made loads to a dataset of its own, and remembers nothing. `pipeline_salt` is for your functions
    that hash what must not be known. `refresh` is that of every run. What is not said here is looked for in
    the settings, in the sections `[pipelines.<name>]` and `[pipelines]`.

    The pipeline is the active one from here on. Without any argument the active one is given, if any.

    >>> pipeline("quick", destination="delta").dataset_name
    'quick'
    >>> pipeline().pipeline_name
    'quick'
    """
    said = (
        *(pipeline_name, pipelines_dir, pipeline_salt, destination, staging, dataset_name),
        *(import_schema_path, export_schema_path, dev_mode or None, refresh, progress, spark, hooks or None),
    )
    active = active_pipeline()
    if isinstance(active, Pipeline) and all(one is None for one in said):
        return active
    name = pipeline_name or configuration_of(None).pipeline_name or _default_name()
    config = configuration_of(name)
    made = Pipeline(
        name,
        _resolve_pipelines_dir(pipelines_dir or config.pipelines_dir),
        pipeline_salt or config.pipeline_salt,
        destination or config.destination_name or config.destination_type,
        staging or config.staging_name or config.staging_type,
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
    )
    made.activate()
    return made


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
    """Give a pipeline that was made and run before, here or elsewhere, and make it the active one.

    Where this machine has its working folder, the names of destination and dataset and the bucket of staging
    are those of its last run from here, or of the last `sync_destination`; after that they are looked for in
    the settings. The bucket of the destination is that of the last run too, unless the settings name one that
    is not relative to a folder. Other arguments of a destination are found in the settings only.
    Elsewhere destination and dataset must be given, and the destination must have a load of it. The dataset
    is called as it is given: no layout makes another name of it.

    >>> attach("quick", destination="delta").has_pending_data  # doctest: +SKIP
    False
    """
    name = pipeline_name or configuration_of(None).pipeline_name or _default_name()
    config = configuration_of(name)
    folder = _resolve_pipelines_dir(pipelines_dir or config.pipelines_dir)
    local = LocalPipeline(folder / check_name(name))
    last, problem = LastTarget.try_load(WorkDir(local.path))
    if problem is not None and (destination is None or dataset_name is None):
        raise problem
    destination = destination or last.destination(name) or config.destination_name or config.destination_type
    reason = _missing_argument_reason(local, last, destination, staging)
    if reason is not None:
        raise CannotRestorePipelineException(pipeline_name=name, working_dir=str(local.path), reason=reason)
    dataset_name = dataset_name or last.dataset_name
    found = Pipeline(
        name,
        folder,
        pipeline_salt or config.pipeline_salt,
        destination,
        staging or last.staging or config.staging_name or config.staging_type,
        dataset_name or config.dataset_name,
        config.import_schema_path,
        config.export_schema_path,
        dev_mode=False,
        progress=progress or config.progress,
        must_attach_to_local_pipeline=destination is None,
        # A name that is known is that of the dataset already: no layout makes another one of it.
        config=config.model_copy(update={"dataset_name_layout": None}) if dataset_name else config,
        runtime=None,
        spark=spark,
    )
    reason = None if local.exists else _missing_load_reason(found)
    if reason is not None:
        raise CannotRestorePipelineException(
            pipeline_name=name, working_dir=str(found.working_dir), reason=reason
        )
    found.activate()
    return found


def _resolve_pipelines_dir(pipelines_dir: str | Path | None) -> Path:
    return Path(pipelines_dir).absolute() if pipelines_dir is not None else pipelines_folder()


def _missing_load_reason(pipeline: Pipeline) -> str | None:
    """Why a pipeline without a working folder cannot be attached to; None where it can."""
    if pipeline.destination is not None and pipeline.first_run:
        return (
            f"{pipeline.destination.destination_name} has no load of it in dataset {pipeline.dataset_name!r}"
        )
    return None


def _missing_argument_reason(
    local: LocalPipeline, last_target: LastTarget, destination: Any, staging: TDestinationReferenceArg
) -> str | None:
    """What must be said of a pipeline that has run here, as its folder does not tell it; None if nothing."""
    if destination is None and local.state is not None:
        return "its working folder does not tell to which destination it loads; pass destination"
    if staging is None and last_target.staging_name is not None and last_target.staging_bucket is None:
        staging = last_target.staging_name
        return f"the address of its {staging} staging has keys, which are not kept; pass staging"
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

    The other arguments are those of `Pipeline.run`; `spark` is the session to work beside, from this call on.

    >>> run([{"id": 1}], destination="delta", table_name="items")  # doctest: +SKIP
    """
    active = active_pipeline()
    found = active if isinstance(active, Pipeline) else pipeline(spark=spark)
    if spark is not None:
        found._spark = spark  # noqa: SLF001 - one of our own
    return found.run(
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
    destination: str | Destination,
    dataset_name: str,
    *,
    spark: SparkSession | None = None,
    consistent: bool = True,
) -> Dataset:
    """Read a dataset without a pipeline; complete loads only, unless `consistent=False`.

    >>> from penstock.destinations import delta
    >>> lake = dataset(delta(bucket_url="/nowhere"), "demo")  # doctest: +SKIP
    >>> lake["items"].df()  # doctest: +SKIP
    """
    found = Destination.from_reference(destination)
    check_name(dataset_name, InvalidDatasetName)
    home = PipelineContext(
        pipeline_name=dataset_name,
        dataset_name=dataset_name,
        workdir=WorkDir(pipelines_folder() / dataset_name),
    )
    target = late_imports.target.open_target(found, home, spark=spark)
    return late_imports.workspace.open_dataset(target, spark=spark, consistent=consistent)


def _default_name() -> str:
    script = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] else ""
    return f"penstock_{script}" if script.isidentifier() else "penstock"
