"""Writes down what the steps of one run come to, while it runs."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.config import ResolvedValues, in_scope, logger, redact
from penstock.errors import PenstockError, PipelineStepFailed
from penstock.extract.report import ExtractInfo
from penstock.interfaces.hooks import call_hooks
from penstock.load.report import LoadInfo
from penstock.normalize.report import NormalizeInfo
from penstock.pipeline.trace import STEPS, PipelineTrace, RunStart, StepTrace

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


class Recorder:
    """Collects reports of packages, and times, by step; gives the infos and the trace of the run."""

    def __init__(
        self, pipeline_name: str, hooks: tuple[RunHooks, ...] = (), history: TraceHistory | None = None
    ) -> None:
        """`history` is where the start of the run is recorded."""
        self.pipeline_name, self._hooks, self._history = pipeline_name, hooks, history
        self.transaction_id = uuid.uuid4().hex
        self.started_at = datetime.now(UTC)
        self.destination_info: Mapping[str, str] = {}
        """Where loads go: what `LoadInfo` says of the destination."""
        self.package_location = ""
        """Where packages stand."""
        self.pending_ids: set[str] = set()
        """Packages that an earlier run had left, by their ids."""
        self.extract_reports: list[ExtractReport] = []
        self.normalize_reports: list[NormalizeReport] = []
        self.load_reports: list[PackageReport] = []
        self.notes: list[str] = []
        self.seconds: dict[TPipelineStep, float] = {}
        self._step_times: dict[TPipelineStep, tuple[datetime, datetime]] = {}
        self.watch: SparkWatch | None = None
        """Who counts the jobs of Spark; None where there is no Spark."""
        self.default_step: TPipelineStep = "extract"
        """The step to which belongs what breaks between two of them."""
        self.is_recorded = False
        """Whether the call was found to be right: what breaks from here on is told, and written down."""
        self.has_begun_work = False
        """Whether a step may have done something: what breaks before that is no failure of a step."""
        self._step_failure: tuple[TPipelineStep, BaseException] | None = None
        self._resolved_values = ResolvedValues()

    def notify_start(self) -> None:
        """Say that the run begins."""
        self._notify("on_run_start", transaction_id=self.transaction_id)

    def record_start(self) -> None:
        """Record that the run begins: the call is valid, and what breaks from here on is reported."""
        self.is_recorded = True
        if self._history is not None:
            start = RunStart(
                transaction_id=self.transaction_id,
                pipeline_name=self.pipeline_name,
                started_at=self.started_at,
            )
            self._history.add(start)

    def finish(self) -> PipelineTrace:
        """Say that the run is over; gives its trace."""
        trace = self.trace()
        self._notify("on_run_end", trace=trace)
        return trace

    @contextmanager
    def step(self, name: TPipelineStep) -> Iterator[None]:
        """Measure a part of a step; what breaks in it belongs to it, unless it was told already."""
        started, moment = time.monotonic(), datetime.now(UTC)
        if self.watch is not None:
            self.watch.begin(name)
        try:
            with self.attribute_errors(name):
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started
            self._step_times[name] = (self._step_times.get(name, (moment,))[0], datetime.now(UTC))

    @contextmanager
    def attribute_errors(self, name: TPipelineStep) -> Iterator[None]:
        """What breaks in the block belongs to a step, unless it was told already; nothing is measured."""
        try:
            yield
        except BaseException as error:
            if self._step_failure is None:
                self._step_failure = (name, error)
            raise

    def record_extracted(self, report: ExtractReport) -> None:
        """Take note of what the extraction of a package came to."""
        self.extract_reports.append(report)
        self._notify_step_end("extract", report)
        self.notes += [
            f"of {name} {count:,} could not be written: see the table _dlt_quarantine"
            for name, count in report.put_aside.items()
        ]

    def record_normalized(self, report: NormalizeReport) -> None:
        """Take note of what a package was normalized to."""
        self.normalize_reports.append(report)
        self._notify_step_end("normalize", report)
        self.notes += report.notes

    def record_loaded(self, report: PackageReport) -> None:
        """Take note of what the load of a package came to."""
        self.load_reports.append(report)
        self._notify_step_end("load", report)

    def extract_info(self, load_ids: Sequence[str] | None = None) -> ExtractInfo:
        """What was extracted; of these packages only, where some are named."""
        packages = tuple(one for one in self.extract_reports if load_ids is None or one.load_id in load_ids)
        started, finished = self._step_times.get("extract", (None, None))
        return ExtractInfo(
            pipeline_name=self.pipeline_name,
            location=self.package_location,
            packages=packages,
            started_at=started,
            finished_at=finished,
        )

    def normalize_info(self) -> NormalizeInfo:
        """What was normalized, with counts that only the load could tell."""
        rows = {one.load_id: {table.table: table.rows for table in one.tables} for one in self.load_reports}
        packages = tuple(one.with_loaded(rows.get(one.load_id, {})) for one in self.normalize_reports)
        started, finished = self._step_times.get("normalize", (None, None))
        return NormalizeInfo(
            pipeline_name=self.pipeline_name, packages=packages, started_at=started, finished_at=finished
        )

    def load_info(self) -> LoadInfo:
        """What was loaded."""
        failures = {name: why for report in self.extract_reports for name, why in report.failures.items()}
        started, finished = self._step_times.get("load", (None, None))
        return LoadInfo(
            pipeline_name=self.pipeline_name,
            destination_name=self.destination_info.get("destination_name", ""),
            dataset_name=self.destination_info.get("dataset_name", ""),
            location=self.destination_info.get("location", ""),
            packages=tuple(self.load_reports),
            seconds={name: self.seconds[name] for name in STEPS if name in self.seconds},
            notes=tuple(self.notes),
            failed_resources=failures,
            pending=frozenset(self.pending_ids),
            started_at=started,
            finished_at=finished,
        )

    def capture_settings(self) -> AbstractContextManager[object]:
        """Take note of the settings that are found in a block, for the trace."""
        return in_scope(resolved=self._resolved_values)

    def trace(self) -> PipelineTrace:
        """The run until now."""
        return PipelineTrace(
            transaction_id=self.transaction_id,
            pipeline_name=self.pipeline_name,
            started_at=self.started_at,
            finished_at=datetime.now(UTC),
            steps=tuple(self._step_trace(name) for name in STEPS if name in self.seconds),
            resolved_config_values=self._resolved_values.values(),
        )

    def failure(self, pipeline: Any, error: Exception) -> PipelineStepFailed:
        """An error as it leaves the door: with the step, the package, and what came of the step."""
        told = self.record_failure(error)
        return PipelineStepFailed(
            pipeline=pipeline,
            step=told,
            load_id=error.load_id if isinstance(error, PenstockError) else None,
            exception=error,
            step_info=self._step_info(told),
            why=_error_text(error),
        )

    def record_failure(self, error: BaseException) -> TPipelineStep:
        """Take note of what ends the run before its time, and tell it; gives the step that it belongs to."""
        stage = error.stage if isinstance(error, PenstockError) else None
        told = (
            stage if stage in STEPS else (self._step_failure[0] if self._step_failure else self.default_step)
        )
        self._step_failure = (told, error)
        self.seconds.setdefault(told, 0.0)
        self._notify("on_failure", step=told, error=error)
        return told

    def _notify_step_end(
        self, step: TPipelineStep, report: ExtractReport | NormalizeReport | PackageReport
    ) -> None:
        self._notify("on_step_end", step=step, load_id=report.load_id, report=report)

    def _notify(self, method: str, **facts: Any) -> None:
        for one, error in call_hooks(self._hooks, method, pipeline_name=self.pipeline_name, **facts):
            _LOG.warning("%s raised %s: %s", type(one).__name__, type(error).__name__, error)

    def _step_trace(self, name: TPipelineStep) -> StepTrace:
        failed = self._step_failure[1] if self._step_failure and self._step_failure[0] == name else None
        rows, size = {
            "extract": self._extracted_totals,
            "normalize": self._normalized_totals,
            "load": self._loaded_totals,
        }[name]()
        return StepTrace(
            step=name,
            seconds=round(self.seconds[name], 3),
            info=self._step_info(name),
            rows=rows,
            bytes=size,
            spark_jobs=None if self.watch is None else self.watch.job_count(name),
            error=None if failed is None else _error_text(failed),
            error_code=failed.code if isinstance(failed, PenstockError) else None,
        )

    def _extracted_totals(self) -> tuple[int, int]:
        """Rows and bytes that were extracted."""
        tables = [table for one in self.extract_reports for table in one.tables]
        return sum(one.rows for one in self.extract_reports), sum(table.bytes for table in tables)

    def _normalized_totals(self) -> tuple[int, int]:
        """Rows and bytes that were normalized."""
        roots = [root for one in self.normalize_reports for root in one.roots]
        return sum(root.rows_in for root in roots), sum(one.bytes_out for one in self.normalize_reports)

    def _loaded_totals(self) -> tuple[int | None, int | None]:
        """Rows and bytes that were loaded; what one table does not tell is not known of all."""
        tables = [table for one in self.load_reports for table in one.tables]
        rows = [table.rows for table in tables if table.rows is not None]
        # Tables that stand in the files of others have no bytes of their own.
        sizes = [table.bytes for table in tables if table.bytes is not None]
        return (
            sum(rows) if len(rows) == len(tables) else None,
            sum(sizes) if sizes or not tables else None,
        )

    def _step_info(self, name: TPipelineStep) -> StepInfo:
        found: dict[TPipelineStep, StepInfo] = {
            "extract": self.extract_info(),
            "normalize": self.normalize_info(),
            "load": self.load_info(),
        }
        return found[name]


def _error_text(error: BaseException) -> str:
    """An error in one text that can be written down: others put secrets into theirs, and broken letters."""
    if isinstance(error, PenstockError):
        said = error.message
    else:
        said = ": ".join(filter(None, (type(error).__name__, str(error))))
    return redact(said).encode(errors="backslashreplace").decode()
