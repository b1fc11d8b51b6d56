"""The client of a function: a job passes the rows of a table to the function, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.destinations.functions.batches import file_of_batch, pending_batches
from penstock.destinations.functions.executor_task import BatchCall
from penstock.destinations.functions.progress import BatchProgress
from penstock.destinations.functions.run import ExecutorSender, write_files
from penstock.destinations.functions.settings import batch_arguments, function_arguments
from penstock.errors import BatchFailed, DataError, DestinationTerminalException, InternalError, UsageError
from penstock.interfaces import AppliedJob, JobClientBase, LoadJob, ParsedLoadJobFileName
from penstock.package import read_job
from penstock.package.storage import FileStorage
from penstock.spark.serialization import RemoteTraceback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.destinations.functions.run import FailedBatch
    from penstock.destinations.functions.settings import FunctionConfiguration
    from penstock.errors import PenstockError
    from penstock.interfaces import DestinationCapabilitiesContext, TLoadJobState
    from penstock.schema import Schema, TSchemaTables, TTableSchema

_SYSTEM_PREFIX = "_dlt"
_TERMINAL = (UsageError, DataError, InternalError, AssertionError)


class FunctionClient(JobClientBase):
    """Passes rows to a function; it stores nothing itself."""

    def __init__(
        self,
        schema: Schema,
        config: FunctionConfiguration,
        capabilities: DestinationCapabilitiesContext,
        *,
        function: Callable[..., Any],
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities)
        self.settings, self.function, self.spark = config, function, spark

    def initialize_storage(self, truncate_tables: Iterable[str] | None = None) -> None:
        """Do nothing: the function has no storage that this client knows."""

    def is_storage_initialized(self) -> bool:
        """Return True: there is nothing to create."""
        return True

    def drop_storage(self) -> None:
        """Do nothing: rows that were sent cannot be taken back."""

    def update_stored_schema(
        self, only_tables: Iterable[str] | None = None, expected_update: TSchemaTables | None = None
    ) -> TSchemaTables | None:
        """Verify the names of the tables; no table is created."""
        self.verify_schema(only_tables)
        return None

    def prepare_load_table(self, table_name: str) -> TTableSchema:
        """Return the table as the function gets it, without system columns unless they are wanted."""
        table = super().prepare_load_table(table_name)
        columns = {
            name: column
            for name, column in table["columns"].items()
            if not (self.settings.skip_dlt_columns_and_tables and name.startswith(_SYSTEM_PREFIX))
        }
        # A table of system columns only keeps them, because a file has at least one column.
        return cast("TTableSchema", {**table, "columns": columns or table["columns"]})

    def start_file_load(self, table: TTableSchema, file_path: str, load_id: str) -> LoadJob:
        """Send the batches of a job that are not sent yet."""
        if self.settings.skip_dlt_columns_and_tables and table["name"].startswith(_SYSTEM_PREFIX):
            return FunctionLoadJob(file_path, rows=0)
        progress = _JobRun(self, table, file_path).run()
        return FunctionLoadJob(file_path, rows=progress.row_count)

    def restore_file_load(self, file_path: str) -> LoadJob:
        """Continue a job of an earlier process after its last recorded batch."""
        table = self.prepare_load_table(ParsedLoadJobFileName.parse(file_path).table_name)
        return self.start_file_load(table, file_path, read_job(file_path).load_id)

    def complete_load(self, load_id: str) -> None:
        """Do nothing: the ledger beside the packages has the load."""


class FunctionLoadJob(LoadJob):
    """A job whose batches are all sent."""

    def __init__(self, file_path: str, *, rows: int) -> None:
        super().__init__(file_path)
        self._rows = rows

    def state(self) -> TLoadJobState:
        """Return `completed`."""
        return "completed"

    def exception(self) -> str:
        """Return an empty text: an error of the function ends the start of the job."""
        return ""

    def applied(self) -> Sequence[AppliedJob]:
        """Return the number of rows of the table."""
        return [AppliedJob(table=self._name.table_name, rows=self._rows)]


class _JobRun:
    """One attempt of one job, which continues after the batches of earlier attempts."""

    def __init__(self, client: FunctionClient, table: TTableSchema, file_path: str) -> None:
        self._config, self._table = client.settings, table
        self._job = read_job(file_path)
        self._job_id = self._job.name.job_id()
        self._store = FileStorage(self._job.package_path)
        if client.spark is None:
            raise UsageError("a function destination needs a Spark session", hint="pass spark to its client")
        self._spark = client.spark
        self._as_rows = self._config.loader_file_format == "typed-jsonl"
        self._call = BatchCall(
            function=client.function,
            table=cast("dict[str, Any]", table),
            arguments=function_arguments(client.function, self._config),
            batch_arguments=batch_arguments(client.function),
            load_id=self._job.load_id,
            as_rows=self._as_rows,
        )
        self._progress = self._initial_progress()

    def run(self) -> BatchProgress:
        """Send all pending batches; record each one that is sent."""
        if self._config.where == "executors":
            self._run_on_executors()
        elif self._progress.batch_size:
            self._send_all(pending_batches(self._store, self._progress))
        else:
            self._send_files()
        return self._progress

    def _initial_progress(self) -> BatchProgress:
        progress = BatchProgress.load(self._job_id)
        if progress is None:
            files = write_files(self._job, self._table, self._store, spark=self._spark)
            progress = BatchProgress(files=files, batch_size=self._config.batch_size)
            progress.save(self._job_id)
        return progress

    def _send_all(self, batches: Iterator[tuple[int, pa.RecordBatch]]) -> None:
        for sent, (number, batch) in enumerate(batches):
            self._send(number, batch, sent=sent)

    def _send_files(self) -> None:
        files = enumerate(name for name, _ in self._progress.files)
        pending = [(number, name) for number, name in files if not self._progress.is_done(number)]
        for sent, (number, name) in enumerate(pending):
            with file_of_batch(self._store, name, self._table, as_rows=self._as_rows) as path:
                self._send(number, path, sent=sent)

    def _send(self, number: int, batch: pa.RecordBatch | str, *, sent: int) -> None:
        try:
            self._call.send(number, batch)
        except _TERMINAL:
            raise
        except Exception as error:  # the function of the user may raise anything
            raise self._batch_error(number, f"{type(error).__name__}: {error}", sent=sent) from error
        self._record([number])

    def _run_on_executors(self) -> None:
        sender = ExecutorSender(self._call, self._store, self._config, self._spark)
        while self._progress.done_count < self._progress.batch_count:
            numbers, failed = sender.send_round(self._progress)
            self._record(numbers)
            if failed:
                raise self._remote_error(failed, sent=len(numbers))

    def _remote_error(self, failed: Sequence[FailedBatch], *, sent: int) -> PenstockError:
        """Return the error of the first batch that failed on an executor, terminal ones first."""
        batch = min(failed, key=lambda batch: (not batch.is_terminal, batch.number))
        error: PenstockError = self._batch_error(batch.number, batch.message, sent=sent)
        if batch.is_terminal:
            error = DestinationTerminalException(error.message, hint="correct the function or its rows")
        error.__cause__ = RemoteTraceback(batch.traceback)
        return error

    def _record(self, numbers: Sequence[int]) -> None:
        self._progress = self._progress.with_done(numbers)
        self._progress.save(self._job_id)

    def _batch_error(self, number: int, reason: str, *, sent: int) -> BatchFailed:
        return BatchFailed(table=self._table["name"], batch_number=number, reason=reason, sent=sent)
