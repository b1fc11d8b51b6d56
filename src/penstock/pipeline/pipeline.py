"""The `Pipeline`: a façade over the stages."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.config import in_scope
from penstock.errors import InvalidDatasetName
from penstock.interfaces import Destination
from penstock.interfaces.current import during
from penstock.pipeline import stages
from penstock.pipeline.active import activate, active_pipeline, deactivate
from penstock.pipeline.allowed import check_dispositions
from penstock.pipeline.arguments import extraction_of
from penstock.pipeline.asking import Asking
from penstock.pipeline.history import History
from penstock.pipeline.progress import collector_of
from penstock.pipeline.workdir import WorkDir, check_name
from penstock.sources import flows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.dataset.dataset import Dataset
    from penstock.dataset.sqlclient import SqlClient
    from penstock.extract.plan import OnError
    from penstock.extract.report import ExtractInfo
    from penstock.extract.settings import ExtractConfiguration
    from penstock.interfaces import Flow
    from penstock.interfaces.hints import NestedValues
    from penstock.interfaces.hooks import RunHooks
    from penstock.interfaces.progress import Collector
    from penstock.load.report import LoadInfo
    from penstock.normalize.info import NormalizeInfo
    from penstock.pipeline.recording import Recorder
    from penstock.pipeline.runner import Runner
    from penstock.pipeline.trace import PipelineTrace
    from penstock.schema import Schema


class Pipeline(Asking):
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
        hooks: Sequence[RunHooks] = (),
    ) -> None:
        self.pipeline_name = check_name(pipeline_name)
        self.pipelines_dir = pipelines_dir
        self.destination = Destination.from_reference(destination) if destination is not None else None
        self.dataset_name = check_name(dataset_name or pipeline_name, InvalidDatasetName)
        self._spark = spark
        self.collector = collector_of(progress)
        self._hooks = tuple(hooks)
        self._last_trace: PipelineTrace | None = None

    @property
    def last_trace(self) -> PipelineTrace | None:
        """What the last run came to, step by step: of this object, else of this machine; None before it."""
        return self._last_trace or self._history().last()

    def traces(self) -> Iterator[PipelineTrace]:
        """What the last runs on this machine came to, the newest first; a hundred are kept."""
        return self._history().newest_first()

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
        self._bind(destination, dataset_name)
        with self._traced() as recorder:
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
            check_dispositions(flows, self._destination())
            said = {"on_error": on_error, "commit_interval": commit_interval}
            self._runner(recorder, extraction_of(self.pipeline_name, **said)).run(flows)
            return recorder.load_info()

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
        with self._traced() as recorder:
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
                self.pipeline_name, max_parallel_items=max_parallel_items, workers=workers, on_error=on_error
            ).model_copy(update={"commit_interval": None})
            if self.destination is not None:
                check_dispositions(flows, self.destination)
                return self._runner(recorder, extraction).extract(flows)
            return stages.extract_to_wait(
                flows,
                pipeline_name=self.pipeline_name,
                dataset_name=self.dataset_name,
                workdir=WorkDir(self.working_dir),
                extraction=extraction,
                collector=self.collector,
                recorder=recorder,
            )

    def normalize(self) -> NormalizeInfo:
        """Normalize what `extract` has left, and leave it for `load`. The destination must be known."""
        with self._traced() as recorder:
            self._runner(recorder).normalize()
            return recorder.normalize_info()

    def load(
        self,
        destination: str | Destination | None = None,
        dataset_name: str | None = None,
        *,
        workers: int | None = None,
        raise_on_failed_jobs: bool | None = None,
    ) -> LoadInfo:
        """Load what `normalize` has left.

        `workers` jobs run side by side. With `raise_on_failed_jobs=False` a chain of tables with a job that
        cannot be done is left out, and told in the result.
        """
        self._bind(destination, dataset_name)
        with self._traced() as recorder:
            said = {"workers": workers, "raise_on_failed_jobs": raise_on_failed_jobs}
            self._runner(recorder, loading=said).load()
            return recorder.load_info()

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

    @contextmanager
    def _traced(self) -> Iterator[Recorder]:
        """One call: what it comes to is written down, and what fails in a step says in which."""
        recorder = stages.recorder(self.pipeline_name, self._hooks)
        recorder.start()
        try:
            with self._at_work(), recorder.listening():
                yield recorder
        except Exception as error:
            if not recorder.is_begun:
                raise
            raise recorder.failure(self, error) from error
        finally:
            self._last_trace = recorder.finish()
            if recorder.is_begun:
                self._history().add(self._last_trace)

    def _bind(self, destination: str | Destination | None, dataset_name: str | None) -> None:
        if destination is not None:
            self.destination = Destination.from_reference(destination)
        self.dataset_name = check_name(dataset_name or self.dataset_name, InvalidDatasetName)

    def _runner(
        self,
        recorder: Recorder,
        extraction: ExtractConfiguration | None = None,
        loading: Mapping[str, Any] | None = None,
    ) -> Runner:
        return stages.runner(
            self._target(),
            recorder,
            spark=self._spark,
            extraction=extraction or extraction_of(self.pipeline_name),
            loading={key: value for key, value in (loading or {}).items() if value is not None},
        )

    def _history(self) -> History:
        return History(self.working_dir / "traces")

    def __repr__(self) -> str:
        to = self.destination.destination_name if self.destination else "no destination,"
        return f"<penstock.Pipeline {self.pipeline_name!r} to {to} dataset {self.dataset_name!r}>"
