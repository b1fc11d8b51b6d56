"""The record of one run: its reports, times and failures, while it runs."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from penstock.config import ResolvedValues, in_scope, logger, redact
from penstock.errors import PenstockError, PipelineStepFailed
from penstock.extract.report import ExtractInfo
from penstock.interfaces.hooks import call_hooks
from penstock.load.report import LoadInfo
from penstock.normalize.report import NormalizeInfo
from penstock.pipeline.signals import signal_name
from penstock.pipeline.trace import (
    NEXT_RUN_HINT,
    STEPS,
    PipelineTrace,
    RunStart,
    StepTrace,
    execution_context,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from penstock.extract.report import ExtractReport
    from penstock.interfaces.hooks import RunHooks
    from penstock.load.report import PackageReport
    from penstock.normalize.report import NormalizeReport
    from penstock.pipeline.trace import StepInfo, TPipelineStep, TraceHistory
    from penstock.spark.watch import SparkWatch

_LOG = logger("penstock.pipeline")
_UNEXTRACTED_DATA: Final = (
    "the data of this run was not extracted, because packages of an earlier run were pending and are now "
    'loaded: run again, or set run.pending = "continue" to do both in one run'
)


class Recorder:
    """Collects the reports and times of each step; returns the infos and the trace of the run."""

    def __init__(
        self,
        pipeline_name: str,
        hooks: tuple[RunHooks, ...] = (),
        history: TraceHistory | None = None,
        pipeline: Any = None,
    ) -> None:
        """`history` is where the start of the run is recorded; `pipeline` is that of the infos."""
        self.pipeline_name, self._hooks, self._history = pipeline_name, hooks, history
        self._pipeline, self._began = pipeline, time.monotonic()
        self.transaction_id = uuid.uuid4().hex
        self.started_at = datetime.now(UTC)
        self.destination_info: Mapping[str, Any] = {
            "destination_name": "",
            "dataset_name": "",
            "location": "",
        }
        """The destination as `LoadInfo` shows it."""
        self.package_location = ""
        """The folder of the packages."""
        self.pending_ids: set[str] = set()
        """The ids of packages that an earlier run left pending."""
        self.has_unextracted_data = False
        """Whether the run left its data to the next one."""
        self.extract_reports: list[ExtractReport] = []
        self.normalize_reports: list[NormalizeReport] = []
        self.load_reports: list[PackageReport] = []
        self.notes: list[str] = []
        self.seconds: dict[TPipelineStep, float] = {}
        self.total_seconds: float | None = None
        """The duration of the call with the start of Spark; None until its work has ended."""
        self.start_seconds: float | None = None
        """The duration of the start of Spark before the first step; None if the run has not started it."""
        self._step_times: dict[TPipelineStep, tuple[datetime, datetime]] = {}
        self.watch: SparkWatch | None = None
        """Counts the jobs of Spark; None without Spark."""
        self.default_step: TPipelineStep = "run"
        """The step of errors that are raised between two steps."""
        self.is_recorded = False
        """Whether the call is valid: errors from here on are reported and recorded."""
        self.has_begun_work = False
        """Whether a step may have had an effect: an error before that is no failure of a step."""
        self._step_failure: tuple[TPipelineStep, BaseException] | None = None
        self._resolved_values = ResolvedValues()

    def notify_start(self) -> None:
        """Notify the hooks that the run begins."""
        self._notify("on_run_start", transaction_id=self.transaction_id)

    def record_start(self) -> None:
        """Record the start of the run: the call is valid, and errors from here on are reported."""
        self.is_recorded = True
        if self._history is not None:
            start = RunStart(
                transaction_id=self.transaction_id,
                pipeline_name=self.pipeline_name,
                started_at=self.started_at,
            )
            self._history.add(start)

    def finish(self) -> PipelineTrace:
        """Notify the hooks that the run has ended; return its trace."""
        trace = self.trace()
        self._notify("on_run_end", trace=trace)
        return trace

    @contextmanager
    def step(self, name: TPipelineStep, load_id: str = "") -> Iterator[None]:
        """Measure a block as part of a step, if given of one package, and attribute errors to the step."""
        began, began_at = time.monotonic(), datetime.now(UTC)
        if self.watch is not None:
            self.watch.begin(name, load_id)
        try:
            with self.attribute_errors(name):
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began
            self._step_times[name] = (self._step_times.get(name, (began_at,))[0], datetime.now(UTC))

    @contextmanager
    def attribute_errors(self, name: TPipelineStep) -> Iterator[None]:
        """Attribute an error raised in a block to a step, unless it has one already; measure nothing."""
        try:
            yield
        except BaseException as error:
            if self._step_failure is None:
                self._step_failure = (name, error)
            raise

    def record_extracted(self, report: ExtractReport) -> None:
        """Record the extraction of a package."""
        self.extract_reports.append(report)
        self._notify_step_end("extract", report)
        self.notes += [
            f"of {name} {count:,} could not be written: see the table _dlt_quarantine"
            for name, count in report.quarantined_rows.items()
        ]

    def record_normalized(self, report: NormalizeReport) -> None:
        """Record the normalization of a package."""
        self.normalize_reports.append(report)
        self._notify_step_end("normalize", report)
        self.notes += report.notes

    def record_loaded(self, report: PackageReport) -> None:
        """Record the load of a package."""
        self.load_reports.append(report)
        self._notify_step_end("load", report)
        for job in report.failed_jobs:
            _LOG.error(
                "load %s is complete without job %s: %s", report.load_id, job.job_id, job.failed_message
            )

    def record_end(self) -> None:
        """Record that the work of the call has ended."""
        self.total_seconds = time.monotonic() - self._began

    def record_unextracted_data(self) -> None:
        """Record that the run has loaded pending packages only, and not its data."""
        self.has_unextracted_data = True
        self.notes.append(_UNEXTRACTED_DATA)
        _LOG.warning("%s: %s", self.pipeline_name, _UNEXTRACTED_DATA)

    def extract_info(self, load_ids: Sequence[str] | None = None) -> ExtractInfo:
        """Return the info of extraction; of all packages, or of those with these ids."""
        packages = tuple(
            report for report in self.extract_reports if load_ids is None or report.load_id in load_ids
        )
        started, finished = self._step_times.get("extract", (None, None))
        return ExtractInfo(
            pipeline_name=self.pipeline_name,
            location=self.package_location,
            packages=packages,
            started_at=started,
            finished_at=finished,
            pipeline=self._pipeline,
        )

    def normalize_info(self) -> NormalizeInfo:
        """Return the info of normalization, with the row counts that only the load has."""
        loaded_rows = {
            report.load_id: {table.table: table.rows for table in report.tables}
            for report in self.load_reports
        }
        packages = tuple(
            report.with_loaded(loaded_rows.get(report.load_id, {})) for report in self.normalize_reports
        )
        started, finished = self._step_times.get("normalize", (None, None))
        return NormalizeInfo(
            pipeline_name=self.pipeline_name,
            packages=packages,
            started_at=started,
            finished_at=finished,
            pipeline=self._pipeline,
        )

    def load_info(self) -> LoadInfo:
        """Return the info of the load."""
        failures = {
            name: reason for report in self.extract_reports for name, reason in report.failures.items()
        }
        started, finished = self._step_times.get("load", (None, None))
        start_seconds = {} if self.start_seconds is None else {"start": self.start_seconds}
        return LoadInfo(
            pipeline_name=self.pipeline_name,
            **self.destination_info,
            packages=tuple(self.load_reports),
            seconds=start_seconds | {name: self.seconds[name] for name in STEPS if name in self.seconds},
            total_seconds=self.total_seconds,
            notes=tuple(self.notes),
            failed_resources=failures,
            pending=frozenset(self.pending_ids),
            has_unextracted_data=self.has_unextracted_data,
            started_at=started,
            finished_at=finished,
            pipeline=self._pipeline,
        )

    def capture_settings(self) -> AbstractContextManager[object]:
        """Record the settings that are resolved in a block, for the trace."""
        return in_scope(resolved=self._resolved_values)

    def trace(self) -> PipelineTrace:
        """Return the trace of the run so far."""
        return PipelineTrace(
            transaction_id=self.transaction_id,
            pipeline_name=self.pipeline_name,
            started_at=self.started_at,
            finished_at=datetime.now(UTC),
            steps=tuple(self._step_trace(name) for name in STEPS if name in self.seconds),
            resolved_config_values=self._resolved_values.values(),
            execution_context=execution_context(),
        )

    def failure(self, pipeline: Any, error: Exception) -> PipelineStepFailed:
        """Return an error as users see it: with its step, its package and the info of the step."""
        step = self.record_failure(error)
        return PipelineStepFailed(
            pipeline=pipeline,
            step=step,
            load_id=error.load_id if isinstance(error, PenstockError) else None,
            exception=error,
            step_info=self._step_info(step),
            why=_error_text(error),
        )

    def record_failure(self, error: BaseException) -> TPipelineStep:
        """Record an error that ends the run, and notify the hooks; return its step."""
        stage = error.stage if isinstance(error, PenstockError) else None
        step = (
            stage if stage in STEPS else (self._step_failure[0] if self._step_failure else self.default_step)
        )
        self._step_failure = (step, error)
        self.seconds.setdefault(step, time.monotonic() - self._began if step == "run" else 0.0)
        if signal_name(error) is not None:
            _LOG.warning("%s: in %s, %s", self.pipeline_name, step, _error_text(error))
        self._notify("on_failure", step=step, error=error)
        return step

    def _notify_step_end(
        self, step: TPipelineStep, report: ExtractReport | NormalizeReport | PackageReport
    ) -> None:
        self._notify("on_step_end", step=step, load_id=report.load_id, report=report)

    def _notify(self, method: str, **facts: Any) -> None:
        for hook, error in call_hooks(self._hooks, method, pipeline_name=self.pipeline_name, **facts):
            _LOG.warning("%s raised %s: %s", type(hook).__name__, type(error).__name__, error)

    def _step_trace(self, name: TPipelineStep) -> StepTrace:
        failed = self._step_failure[1] if self._step_failure and self._step_failure[0] == name else None
        rows, size = {
            "run": lambda: (None, None),
            "extract": self._extracted_totals,
            "normalize": self._normalized_totals,
            "load": self._loaded_totals,
        }[name]()
        started_at, finished_at = self._step_times.get(name, (None, None))
        return StepTrace(
            step=name,
            started_at=started_at,
            finished_at=finished_at,
            seconds=round(self.seconds[name], 3),
            info=self._step_info(name),
            rows=rows,
            bytes=size,
            spark_jobs=None if self.watch is None or name == "run" else self.watch.job_count(name),
            error=None if failed is None else _error_text(failed),
            error_code=failed.code if isinstance(failed, PenstockError) else None,
        )

    def _extracted_totals(self) -> tuple[int, int]:
        """Return the extracted rows and bytes."""
        tables = [table for report in self.extract_reports for table in report.tables]
        return sum(report.rows for report in self.extract_reports), sum(table.bytes for table in tables)

    def _normalized_totals(self) -> tuple[int, int]:
        """Return the normalized rows and bytes."""
        roots = [root for report in self.normalize_reports for root in report.roots]
        bytes_out = sum(report.bytes_out for report in self.normalize_reports)
        return sum(root.rows_in for root in roots), bytes_out

    def _loaded_totals(self) -> tuple[int | None, int | None]:
        """Return the loaded rows and bytes; None for a number that a table does not report."""
        tables = [table for report in self.load_reports for table in report.tables]
        rows = [table.rows for table in tables if table.rows is not None]
        # Nested tables share the files of their root, and have no bytes.
        sizes = [table.bytes for table in tables if table.bytes is not None]
        return (
            sum(rows) if len(rows) == len(tables) else None,
            sum(sizes) if sizes or not tables else None,
        )

    def _step_info(self, name: TPipelineStep) -> StepInfo:
        infos: dict[TPipelineStep, StepInfo] = {
            "run": self.load_info(),
            "extract": self.extract_info(),
            "normalize": self.normalize_info(),
            "load": self.load_info(),
        }
        return infos[name]


def _error_text(error: BaseException) -> str:
    """Return an error as text for the history: without secrets, and with broken characters escaped."""
    if isinstance(error, PenstockError):
        text = error.message
    elif (name := signal_name(error)) is not None:
        text = f"stopped by signal {name}; {NEXT_RUN_HINT}"
    else:
        text = ": ".join(filter(None, (type(error).__name__, str(error))))
    return redact(text).encode(errors="backslashreplace").decode()
