"""Traces of runs, step by step, and their history in the working folder."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import datetime
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, TypedDict

from penstock.config import ResolvedValue, logger
from penstock.interfaces.humanize import human_count, human_size
from penstock.interfaces.process import ProcessId
from penstock.pages.elements import element
from penstock.pages.page import notebook_fragment
from penstock.pipeline.timeline import timeline
from penstock.pipeline.workdir import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from penstock.interfaces.process import ProcessState

_LOG = logger("penstock.pipeline")
MAX_TRACES: Final = 100
TPipelineStep: TypeAlias = Literal["run", "extract", "normalize", "load"]
STEPS: Final[tuple[TPipelineStep, ...]] = ("run", "extract", "normalize", "load")
"""`run` is what precedes the other steps in a call of `run`; a trace has it only where it failed."""
ENGINE_VERSION: Final = 2
_UNFINISHED_TEXTS: Final[Mapping[ProcessState, str]] = {
    "running": "is still running",
    "ended": "did not finish: the process ended without saying why (killed, out of memory, machine restart)",
    "unknown": "has not finished: it runs elsewhere, or its process ended without saying why",
}
NEXT_RUN_HINT: Final = (
    "run it again: packages that are complete are loaded first, what was not fully extracted is extracted "
    "again, and nothing is loaded twice"
)
"""The hint for a run that did not finish: what the next run does."""


class StepTraceDocument(TypedDict):
    """A step of a run, as plain data."""

    step: TPipelineStep
    started_at: str | None
    finished_at: str | None
    seconds: float
    rows: int | None
    bytes: int | None
    spark_jobs: int | None
    """Spark jobs of the step; null where Spark does not report them, as over Connect."""
    error: str | None
    error_code: str | None
    info: dict[str, Any]
    """The facts of the step: packages, tables and jobs."""
    text: str
    """The same as text."""


class PipelineTraceDocument(TypedDict):
    """A run that has ended, as plain data."""

    transaction_id: str
    pipeline_name: str
    started_at: str
    finished_at: str
    engine_version: int
    execution_context: dict[str, Any]
    """The version of Python, the system and the number of processors."""
    resolved_config_values: list[dict[str, str]]
    """The settings that were resolved during the run, with their providers; no secrets."""
    steps: list[StepTraceDocument]


class RunStartDocument(TypedDict):
    """A run that has not ended, as plain data."""

    transaction_id: str
    pipeline_name: str
    started_at: str
    finished_at: None
    engine_version: int
    process: dict[str, Any]
    """The host and the number of the process."""


class StepInfo(Protocol):
    """The result of a step: `ExtractInfo`, `NormalizeInfo` or `LoadInfo`."""

    @property
    def loads_ids(self) -> Sequence[str]:
        """The ids of its packages."""
        ...

    def recorded_facts(self) -> dict[str, Any]:
        """Return the plain data that a trace keeps."""
        ...

    def asdict(self) -> dict[str, Any]:
        """Return plain data, which can be loaded as a table."""
        ...

    def asstr(self, verbosity: int = 0) -> str:
        """Return text; with `verbosity` the packages and their jobs follow."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStepInfo:
    """The result of a step in an earlier process: its plain data, and its text."""

    document: Mapping[str, Any]
    text: str

    @property
    def loads_ids(self) -> Sequence[str]:
        """The ids of its packages."""
        load_ids: Sequence[str] = self.document["loads_ids"]
        return load_ids

    @property
    def row_counts(self) -> dict[str, int | None]:
        """The rows of each table."""
        counts: dict[str, int | None] = {}
        for table in self.document.get("tables", ()):
            name, rows = table["table"], table["rows"]
            before = counts.get(name, 0)
            counts[name] = None if rows is None or before is None else before + rows
        return counts

    def recorded_facts(self) -> dict[str, Any]:
        """Return the plain data that a trace keeps."""
        return dict(self.document)

    def asdict(self) -> dict[str, Any]:
        """Return plain data, which can be loaded as a table."""
        return self.recorded_facts()

    def asstr(self, verbosity: int = 0) -> str:
        """Return the text; a trace does not keep the packages, so it is the same for any `verbosity`."""
        del verbosity
        return self.text

    def __getattr__(self, name: str) -> Any:
        """Return a value of the document, such as `dataset_name`."""
        try:
            return self.document[name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """One step of a run: its result, its duration and its error."""

    step: TPipelineStep
    seconds: float
    info: StepInfo
    rows: int | None = None
    bytes: int | None = None
    spark_jobs: int | None = None
    """Spark jobs of the step; None where Spark does not report them, as over Connect."""
    error: str | None = None
    """The text of the error."""
    error_code: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def step_info(self) -> StepInfo:
        """The result of the step."""
        return self.info

    @property
    def step_exception(self) -> str | None:
        """The text of the error; None for a step without one."""
        return self.error

    def asstr(self, verbosity: int = 0) -> str:
        """Return the step as text; with `verbosity` its packages and their jobs follow."""
        # The info of a step that failed before its first package is empty.
        has_info = self.error is None or self.info.loads_ids
        return "\n".join([self.summary(), *([indent(self.info.asstr(verbosity), "  ")] if has_info else [])])

    def summary(self) -> str:
        """Return one line: duration, rows, bytes, Spark jobs, and an error in a second one.

        >>> info = StoredStepInfo(document={"loads_ids": []}, text="")
        >>> StepTrace(step="load", seconds=2.5, info=info, rows=1, bytes=2048, spark_jobs=3).summary()
        'load: 2.5 s, 1 row, 2.0 KB, 3 Spark jobs'
        """
        facts = [f"{self.seconds:.1f} s"]
        facts += [] if self.rows is None else [human_count(self.rows, "row")]
        facts += [human_size(self.bytes)] if self.bytes else []
        facts += [] if self.spark_jobs is None else [human_count(self.spark_jobs, "Spark job")]
        failed = "" if self.error is None else f" failed: {self.error}"
        return f"{self.step}: {', '.join(facts)}" + (f"\n{self.step}{failed}" if failed else "")

    def asdict(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(_step_document(self))

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> StepTrace:
        """Read what `asdict` returned."""
        facts = dict(document)
        started_at, finished_at = (_parse_time(facts.pop(key, None)) for key in ("started_at", "finished_at"))
        info = StoredStepInfo(document=facts.pop("info"), text=facts.pop("text"))
        return StepTrace(info=info, started_at=started_at, finished_at=finished_at, **facts)


def _step_document(step: StepTrace) -> StepTraceDocument:
    return {
        "step": step.step,
        "started_at": step.started_at.isoformat() if step.started_at else None,
        "finished_at": step.finished_at.isoformat() if step.finished_at else None,
        "seconds": step.seconds,
        "rows": step.rows,
        "bytes": step.bytes,
        "spark_jobs": step.spark_jobs,
        "error": step.error,
        "error_code": step.error_code,
        "info": step.info.recorded_facts(),
        "text": str(step.info),
    }


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def execution_context() -> dict[str, Any]:
    """Return the version of Python, the system and the number of processors.

    >>> sorted(execution_context())
    ['cpu', 'os', 'python']
    """
    return {
        "python": platform.python_version(),
        "cpu": os.cpu_count(),
        "os": {"name": platform.system(), "version": platform.release()},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTrace:
    """One run, package by package: what was extracted, normalized and loaded. `print` it.

    >>> from datetime import UTC, datetime
    >>> now = datetime(2024, 5, 6, tzinfo=UTC)
    >>> print(PipelineTrace(transaction_id="5f", pipeline_name="shop", started_at=now, finished_at=now))
    Run of 'shop' at 2024-05-06 00:00:00 UTC, 0.0 s
    """

    transaction_id: str
    pipeline_name: str
    started_at: datetime
    finished_at: datetime
    steps: tuple[StepTrace, ...] = ()
    resolved_config_values: tuple[ResolvedValue, ...] = ()
    """The settings that were resolved during the run, with their providers; no secrets."""
    execution_context: Mapping[str, Any] = field(default_factory=dict)
    """The version of Python, the system and the number of processors."""
    engine_version: int = ENGINE_VERSION

    @property
    def seconds(self) -> float:
        """The duration of the run."""
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def failed_step(self) -> StepTrace | None:
        """The step that failed, if one did."""
        return next((step for step in self.steps if step.error is not None), None)

    @property
    def last_extract_info(self) -> Any:
        """The info of extraction; None if nothing was extracted."""
        return self._last_info("extract")

    @property
    def last_normalize_info(self) -> Any:
        """The info of normalization: rows, changes and omissions of each table."""
        return self._last_info("normalize")

    @property
    def last_load_info(self) -> Any:
        """The info of the load; None if nothing was loaded."""
        return self._last_info("load")

    def last_pipeline_step_trace(self, step: TPipelineStep) -> StepTrace | None:
        """Return the last step of that name."""
        return next((trace for trace in reversed(self.steps) if trace.step == step), None)

    def asdict(self) -> dict[str, Any]:
        """Return plain data, as written to the history; it can be loaded as a table."""
        document: PipelineTraceDocument = {
            "transaction_id": self.transaction_id,
            "pipeline_name": self.pipeline_name,
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
            "engine_version": self.engine_version,
            "execution_context": dict(self.execution_context),
            "resolved_config_values": [value.asdict() for value in self.resolved_config_values],
            "steps": [_step_document(step) for step in self.steps],
        }
        return dict(document)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> PipelineTrace:
        """Read what `asdict` returned."""
        return PipelineTrace(
            transaction_id=document["transaction_id"],
            pipeline_name=document["pipeline_name"],
            started_at=datetime.fromisoformat(document["started_at"]),
            finished_at=datetime.fromisoformat(document["finished_at"]),
            resolved_config_values=tuple(
                ResolvedValue(**value) for value in document["resolved_config_values"]
            ),
            steps=tuple(map(StepTrace.from_dict, document["steps"])),
            execution_context=document.get("execution_context", {}),
            engine_version=document["engine_version"],
        )

    def _last_info(self, name: TPipelineStep) -> StepInfo | None:
        trace = self.last_pipeline_step_trace(name)
        return trace.info if trace else None

    def asstr(self, verbosity: int = 0) -> str:
        """Return the run as text; with `verbosity` the packages and their jobs follow each step."""
        begun = f"{self.started_at:%Y-%m-%d %H:%M:%S} UTC"
        lines = [f"Run of {self.pipeline_name!r} at {begun}, {self.seconds:.1f} s"]
        lines += [step.asstr(verbosity) for step in self.steps]
        if self.resolved_config_values:
            lines += ["settings", *(f"  {value}" for value in self.resolved_config_values)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.asstr()

    def _repr_html_(self) -> str:
        """Return the timeline of the run, which a notebook shows."""
        title = element("p", element("strong", f"Run of {self.pipeline_name}"))
        return notebook_fragment(title, timeline(self.asdict()))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """The record of a run at its start; its trace replaces the record when it ends.

    >>> from datetime import UTC, datetime
    >>> start = datetime(2024, 5, 6, tzinfo=UTC)
    >>> print(RunStart(transaction_id="5f", pipeline_name="shop", started_at=start))
    Run of 'shop' started at 2024-05-06 00:00:00 UTC, is still running
    """

    transaction_id: str
    pipeline_name: str
    started_at: datetime
    process: ProcessId = field(default_factory=ProcessId)

    @property
    def state(self) -> ProcessState:
        """Whether its process still runs, as far as this machine knows."""
        return self.process.state()

    @property
    def outcome(self) -> str:
        """The known outcome, as text."""
        return _UNFINISHED_TEXTS[self.state]

    @property
    def hint(self) -> str:
        """How the next run continues; empty for a run that is still running."""
        return "" if self.state == "running" else NEXT_RUN_HINT

    def asdict(self) -> dict[str, Any]:
        """Return plain data, as written to the history."""
        document: RunStartDocument = {
            "transaction_id": self.transaction_id,
            "pipeline_name": self.pipeline_name,
            "started_at": self.started_at.isoformat(),
            "finished_at": None,
            "engine_version": ENGINE_VERSION,
            "process": asdict(self.process),
        }
        return dict(document)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> RunStart:
        """Read what `asdict` returned."""
        return RunStart(
            transaction_id=document["transaction_id"],
            pipeline_name=document["pipeline_name"],
            started_at=datetime.fromisoformat(document["started_at"]),
            process=ProcessId(**document["process"]),
        )

    def __str__(self) -> str:
        begun = f"{self.started_at:%Y-%m-%d %H:%M:%S} UTC"
        line = f"Run of {self.pipeline_name!r} started at {begun}, {self.outcome}"
        return f"{line}\n  what to do: {self.hint}" if self.hint else line


@dataclass(frozen=True, slots=True)
class TraceHistory:
    """The traces of the last runs: a folder with a JSON file for each, sorted by time."""

    folder: Path

    def add(self, run: PipelineTrace | RunStart) -> None:
        """Write a run, and delete the oldest ones beyond the limit; a failure is only a warning.

        A trace replaces the record of the start of its run.
        """
        name = f"{run.started_at:%Y%m%dT%H%M%S%f}-{run.transaction_id}.json"
        try:
            write_json(self.folder / name, run.asdict())
            for path in self._files()[:-MAX_TRACES]:
                path.unlink(missing_ok=True)
        except (OSError, ValueError, TypeError) as error:
            _LOG.warning("the trace of this run cannot be written to %s: %s", self.folder, error)

    def last(self) -> PipelineTrace | None:
        """Return the newest readable trace: that of the last run that ended, successful or not."""
        return next(self.traces(), None)

    def traces(self) -> Iterator[PipelineTrace]:
        """Return all readable traces, newest first."""
        return (run for run in self.runs() if isinstance(run, PipelineTrace))

    def runs(self) -> Iterator[PipelineTrace | RunStart]:
        """Yield all readable runs, newest first, also those that have not ended or never did."""
        for path in reversed(self._files()):
            run = _read_run(path)
            if run is not None:
                yield run

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.json"))


def _read_run(path: Path) -> PipelineTrace | RunStart | None:
    """Return a run; None for a file that cannot be read, which must not stop a pipeline."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind = RunStart if document["finished_at"] is None else PipelineTrace
        return kind.from_dict(document)
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("the trace %s cannot be read: %s", path, error)
        return None
