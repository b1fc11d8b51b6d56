"""The `Pipeline`: a façade over the stages."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from penstock.config import in_scope
from penstock.errors import InvalidDatasetName, UsageError
from penstock.interfaces import Destination
from penstock.interfaces.current import during
from penstock.pipeline import stages
from penstock.pipeline.active import activate, active_pipeline, deactivate
from penstock.pipeline.arguments import extraction_of
from penstock.pipeline.progress import collector_of
from penstock.pipeline.workdir import WorkDir, check_name
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset
    from penstock.dataset.sqlclient import SqlClient
    from penstock.extract.plan import OnError
    from penstock.extract.report import ExtractInfo
    from penstock.interfaces import Flow
    from penstock.interfaces.hints import NestedValues
    from penstock.interfaces.progress import Collector
    from penstock.load.report import LoadInfo
    from penstock.package import LoadJobInfo, LoadPackageInfo, TLoadPackageState
    from penstock.pipeline.listing import Listing
    from penstock.pipeline.memory import Memory
    from penstock.pipeline.target import Target
    from penstock.pipeline.trace import PipelineTrace
    from penstock.schema import NamingConvention, Schema


class Pipeline:
    """Moves data to one dataset of one destination, load by load.

    Make one with `penstock.pipeline`.

    >>> from penstock.pipeline.factory import pipeline
    >>> pipeline("quick", destination="delta", dataset_name="demo")
    <penstock.Pipeline 'quick' to delta dataset 'demo'>
    """

    def __init__(
        self,
        pipeline_name: str,
        pipelines_dir: Path,
        destination: str | Destination | None,
        dataset_name: str | None,
        *,
        spark: SparkSession | None = None,
        progress: str | Collector | None = None,
    ) -> None:
        self.pipeline_name = check_name(pipeline_name)
        self.pipelines_dir = pipelines_dir
        self.destination = Destination.from_reference(destination) if destination is not None else None
        self.dataset_name = check_name(dataset_name or pipeline_name, InvalidDatasetName)
        self._spark = spark
        self.collector = collector_of(progress)
        self._last_trace: PipelineTrace | None = None

    @property
    def last_trace(self) -> PipelineTrace | None:
        """What the last run of this object came to, step by step; None before it."""
        return self._last_trace

    @property
    def working_dir(self) -> Path:
        """The local folder of this pipeline: caches only."""
        return self.pipelines_dir / self.pipeline_name

    def run(  # noqa: PLR0913 - the arguments are the page's
        self,
        data: Any = None,
        *,
        destination: str | Destination | None = None,
        dataset_name: str | None = None,
        table_name: str | None = None,
        write_disposition: Any = None,
        columns: Any = None,
        primary_key: Any = None,
        schema: Schema | None = None,
        loader_file_format: Any = None,
        table_format: Any = None,
        schema_contract: Any = None,
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

        `loader_file_format` says what plain files are: `parquet`, `jsonl` or `csv`; tables keep to it.
        `schema_contract` counts before those of sources and resources, for all tables of this run.
        `nested="keep"` leaves structs, lists and maps of frames what they are.

        With `on_error="continue"` a resource that raises is left out of the load, and told in the result.
        With `commit_interval`, in seconds, what has come so far is loaded every so often while extraction
        goes on. Both can be settings of the section `extract`.
        """
        if destination is not None:
            self.destination = Destination.from_reference(destination)
        self.dataset_name = check_name(dataset_name or self.dataset_name, InvalidDatasetName)
        with self._at_work():
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
                    nested=nested,
                )
            self._check_dispositions(flows)
            extraction = extraction_of(self.pipeline_name, on_error=on_error, commit_interval=commit_interval)
            trace = stages.run(self._target(), flows, spark=self._spark, extraction=extraction)
            self._last_trace = trace
            return cast("LoadInfo", trace.last_load_info)

    def extract(  # noqa: PLR0913 - the arguments are the page's
        self,
        data: Any,
        *,
        table_name: str | None = None,
        write_disposition: Any = None,
        columns: Any = None,
        primary_key: Any = None,
        schema: Schema | None = None,
        max_parallel_items: int | None = None,
        workers: int | None = None,
        table_format: Any = None,
        schema_contract: Any = None,
        nested: NestedValues | None = None,
        on_error: OnError | None = None,
    ) -> ExtractInfo:
        """Extract `data` into a package, and leave it for the next `run` to normalize and load.

        The destination need not be known. Then the package waits in the working folder, or where the setting
        `extract.package_storage` says, and a later run carries it to its destination. Spark is not started
        for Python rows. The arguments are those of `run`.
        """
        with self._at_work():
            flows = flows_of(
                data,
                table_name=table_name,
                schema=schema,
                write_disposition=write_disposition,
                columns=columns,
                primary_key=primary_key,
                table_format=table_format,
                schema_contract=schema_contract,
                nested=nested,
            )
            extraction = extraction_of(
                self.pipeline_name,
                max_parallel_items=max_parallel_items,
                workers=workers,
                on_error=on_error,
            ).model_copy(update={"commit_interval": None})
            if self.destination is not None:
                self._check_dispositions(flows)
                return stages.extract(self._target(), flows, spark=self._spark, extraction=extraction)
            return stages.extract_to_wait(
                flows,
                pipeline_name=self.pipeline_name,
                dataset_name=self.dataset_name,
                workdir=WorkDir(self.working_dir),
                extraction=extraction,
                collector=self.collector,
            )

    def drop_pending_packages(self, with_partial_loads: bool = True) -> None:  # noqa: FBT001, FBT002 - the page's
        """Delete the packages that wait: extracted, normalized, and those that are loaded in part.

        Tables that have rows of such a load already go back to what they were, by one commit each. Nothing is
        dropped if somebody has written to one of them since: the error says to which. With
        `with_partial_loads=False` a load that was begun stays, and the next `run` goes on with it.

        State and schema are those of the last complete load, so the next `run` asks the source again for what
        was dropped.
        """
        with self._at_work():
            extraction = extraction_of(self.pipeline_name)
            stages.drop_pending(
                self._target() if self.destination is not None else None,
                pipeline_name=self.pipeline_name,
                workdir=WorkDir(self.working_dir),
                storage=extraction.package_storage,
                spark=self._spark,
                with_partial_loads=with_partial_loads,
            )

    def activate(self) -> None:
        """Make this the active pipeline: `penstock.pipeline()` gives it, and settings are looked up for it.

        Only one is active at a time, the one that was made, attached or run last. Where settings have a
        section with its name, that counts before all others.
        """
        activate(self)

    def deactivate(self) -> None:
        """Leave no pipeline active; an error where this one is not."""
        deactivate(self)

    @property
    def is_active(self) -> bool:
        """Whether this is the active pipeline."""
        return active_pipeline() is self

    @property
    def has_data(self) -> bool:
        """Whether there is anything: a schema, a package, or a load at the destination."""
        return not self._memory().is_new or self.has_pending_data or bool(self.list_completed_load_packages())

    @property
    def has_pending_data(self) -> bool:
        """Whether a package waits to be normalized or loaded."""
        return self._listing().has_pending

    @property
    def first_run(self) -> bool:
        """Whether no load of this pipeline has been completed yet."""
        return not self.list_completed_load_packages() and self._memory().is_new

    @property
    def state(self) -> dict[str, Any]:
        """The state after everything that waits is loaded; a copy, to look at."""
        return self._memory().state

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schemas by their names."""
        return self._memory()

    @property
    def default_schema(self) -> Schema:
        """The schema of sources that bring none."""
        return self._memory().default_schema

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
        workdir = WorkDir(self.working_dir)
        workdir.save_local({**workdir.local(), key: stages.typed(value)})

    def get_local_state_val(self, key: str) -> Any:
        """A value that this machine remembers; KeyError for one that it does not."""
        return self._memory().local()[key]

    def list_extracted_resources(self) -> Sequence[str]:
        """Where the rows stand that will be normalized; `list_extracted_load_packages` says more."""
        return self._listing().extracted_folders()

    def list_extracted_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be normalized."""
        return self._listing().extracted()

    def list_normalized_load_packages(self) -> Sequence[str]:
        """The ids of packages that are or will be loaded."""
        return self._listing().normalized()

    def list_completed_load_packages(self) -> Sequence[str]:
        """The ids of packages that are loaded; of old ones nothing is kept."""
        return self._listing().completed()

    def get_load_package_info(self, load_id: str) -> LoadPackageInfo:
        """A package, with all jobs and their states."""
        return self._listing().info(load_id)

    def get_load_package_state(self, load_id: str) -> TLoadPackageState:
        """What a package remembers."""
        return self._listing().state(load_id)

    def list_failed_jobs_in_package(self, load_id: str) -> Sequence[LoadJobInfo]:
        """The failed jobs of a package, with their messages."""
        return self._listing().failed_jobs(load_id)

    def dataset(self, *, consistent: bool = True) -> Dataset:
        """Read what was loaded: `pipeline.dataset()["items"].df()`.

        A dataset shows complete loads only, all tables at one moment; `consistent=False` shows the tables as
        they are, with what a load has written that is not complete.
        """
        return stages.open_dataset(self._target(), spark=self._spark, consistent=consistent)

    def sql_client(self, schema_name: str | None = None) -> SqlClient:
        """Query and change the tables with Spark SQL, by their bare names; use it in a `with` block.

        Values for `%s` are bound by the engine. `schema_name` says whose dataset is meant where schemas have
        datasets of their own.
        """
        return stages.open_sql_client(self._target(), spark=self._spark, schema_name=schema_name)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """User code and the configuration know which pipeline runs."""
        with during(pipeline=self), in_scope(pipeline_name=self.pipeline_name):
            yield

    def _check_dispositions(self, flows: tuple[Flow, ...]) -> None:
        """Refuse what is known to be refused, before anything is started."""
        able = self._destination().capabilities
        hints = [stream.hints for flow in flows for stream in flow.streams]
        self._check_words((one.disposition for one in hints), (*able.supported_write_dispositions, "skip"))
        self._check_words((one.merge_strategy for one in hints), able.supported_merge_strategies)
        if able.supported_table_formats:
            said = (one.table_format for one in hints if isinstance(one.table_format, str))
            self._check_words(said, able.supported_table_formats)

    def _check_words(self, said: Iterable[str | None], allowed: Collection[str]) -> None:
        for word in said:
            if word is not None and word not in allowed:
                raise UsageError(
                    f"{self._destination().destination_name} cannot write with {word!r} yet",
                    hint=f"use one of: {', '.join(sorted(allowed))}",
                    write_disposition=word,
                )

    def _listing(self) -> Listing:
        return stages.listing(
            self._target() if self.destination is not None else None,
            pipeline_name=self.pipeline_name,
            workdir=WorkDir(self.working_dir),
            storage=extraction_of(self.pipeline_name).package_storage,
            spark=self._spark,
        )

    def _memory(self) -> Memory:
        return stages.memory(
            self._target() if self.destination is not None else None,
            pipeline_name=self.pipeline_name,
            dataset_name=self.dataset_name,
            workdir=WorkDir(self.working_dir),
            storage=extraction_of(self.pipeline_name).package_storage,
            spark=self._spark,
        )

    def _destination(self) -> Destination:
        if self.destination is None:
            raise UsageError(
                f"pipeline {self.pipeline_name!r} has no destination",
                hint="pass destination='delta' to penstock.pipeline() or to run()",
            )
        return self.destination

    def _target(self) -> Target:
        return stages.open_target(
            self._destination(),
            dataset_name=self.dataset_name,
            pipeline_name=self.pipeline_name,
            workdir=WorkDir(self.working_dir),
            spark=self._spark,
            collector=self.collector,
        )

    def __repr__(self) -> str:
        to = self.destination.destination_name if self.destination else "no destination,"
        return f"<penstock.Pipeline {self.pipeline_name!r} to {to} dataset {self.dataset_name!r}>"
