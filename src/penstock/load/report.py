"""The report of a load, for programs and for printing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import DestinationHasFailedJobs
from penstock.interfaces.humanize import human_count, human_seconds, human_size
from penstock.package.metrics import metric_rows, time_after
from penstock.package.step_result import StepResult
from penstock.pages.elements import element, facts, table_element
from penstock.pages.page import notebook_fragment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from penstock.errors import PenstockError
    from penstock.package.metrics import LoadJobMetrics
    from penstock.pages.elements import Html


_DESTINATION_FIELDS: Final = (
    *("destination_type", "destination_name", "destination_displayable_credentials"),
    *("destination_fingerprint", "environment", "dataset_name", "location"),
    *("staging_type", "staging_name", "staging_displayable_credentials"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """One table of a load. `rows` is None when the destination did not count them."""

    table: str
    rows: int | None
    version: int | None
    skipped: bool
    bytes: int | None = None
    """Bytes of its rows in the package; None if they are in the files of another table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """A job that was left out of a load, with the reason."""

    job_id: str
    failed_message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageReport:
    """One loaded package."""

    load_id: str
    sequence: int
    tables: tuple[TableReport, ...]
    seconds: float
    failed_jobs: tuple[FailedJob, ...] = ()
    is_first: bool = False
    """Whether it is the first complete load of the pipeline."""
    dataset_name: str = ""
    started_at: datetime | None = None
    jobs: tuple[LoadJobMetrics, ...] = ()
    """The jobs of this load, with their times."""

    @property
    def metrics(self) -> dict[str, Any]:
        """The measurements of the load, by job."""
        return {
            "started_at": self.started_at,
            "finished_at": time_after(self.started_at, self.seconds),
            "job_metrics": {job.job_id: job for job in self.jobs},
            "dataset_name": self.dataset_name,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadInfo(StepResult[PackageReport]):
    """The result of `run` and `load`.

    Printed, it shows the rows of each table, the location and the duration.
    """

    destination_name: str
    dataset_name: str
    location: str
    """The address of the dataset, without credentials."""
    destination_type: str = ""
    destination_displayable_credentials: str | None = None
    """The address of the destination, without secrets."""
    destination_fingerprint: str = ""
    """A hash that identifies the destination, not its secrets."""
    environment: str | None = None
    staging_type: str | None = None
    staging_name: str | None = None
    staging_displayable_credentials: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    """The duration of each step, and as `start` that of the start of Spark if the run has started it."""
    total_seconds: float | None = None
    """The duration of the call, with what is between the steps; None where it was not measured."""
    notes: tuple[str, ...] = ()
    failed_resources: Mapping[str, PenstockError] = field(default_factory=dict)
    """The errors of resources that were left out, by name; only with `on_error="continue"`."""
    pending: frozenset[str] = frozenset()
    """The ids of packages that an earlier run left pending."""
    has_unextracted_data: bool = False
    """Whether `data` of the run was not extracted because packages were pending: run again to load it."""

    @property
    def first_run(self) -> bool:
        """Whether one of the packages is the first complete load of the pipeline."""
        return any(package.is_first for package in self.packages)

    @property
    def has_failed_jobs(self) -> bool:
        """Whether some package was loaded without some of its jobs."""
        return any(package.failed_jobs for package in self.packages)

    def raise_on_failed_jobs(self) -> None:
        """Raise for the first package that was loaded without some of its jobs."""
        for package in self.packages:
            if package.failed_jobs:
                raise DestinationHasFailedJobs(
                    destination=self.destination_name,
                    load_id=package.load_id,
                    failed_jobs=tuple(job.job_id for job in package.failed_jobs),
                )

    def recorded_facts(self) -> dict[str, Any]:
        """Return the plain data that a trace keeps."""
        return {
            **StepResult.recorded_facts(self),
            **{name: getattr(self, name) for name in _DESTINATION_FIELDS},
            "first_run": self.first_run,
            "job_metrics": [*metric_rows("job_id", self.metrics_by_load("job_metrics"))],
            "has_unextracted_data": self.has_unextracted_data,
            "packages": [
                {
                    "load_id": package.load_id,
                    "sequence": package.sequence,
                    "seconds": package.seconds,
                    "was_pending": package.load_id in self.pending,
                }
                for package in self.packages
            ],
            "tables": [
                {
                    "load_id": package.load_id,
                    "table": table.table,
                    "rows": table.rows,
                    "bytes": table.bytes,
                    "was_committed_before": table.skipped,
                }
                for package in self.packages
                for table in package.tables
            ],
            "failed_jobs": [
                {"load_id": package.load_id, "job_id": job.job_id, "failed_message": job.failed_message}
                for package in self.packages
                for job in package.failed_jobs
            ],
            "failed_resources": [
                {"resource": name, "error": why.message} for name, why in self.failed_resources.items()
            ],
            "seconds": dict(self.seconds),
            "total_seconds": self.total_seconds,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        where = f"{self.destination_name} dataset {self.dataset_name!r} at {self.location}"
        if not self.packages:
            return "\n".join(
                [f"Pipeline {self.pipeline_name!r} had nothing to load into {where}", *self._last_lines()]
            )
        steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in self.seconds.items())
        total = self._all_seconds()
        packages = human_count(len(self.packages), "package")
        lines = [
            f"Pipeline {self.pipeline_name!r} loaded {packages} in {total:.1f} s ({steps})",
            f"into {where}",
        ]
        for package in self.packages:
            lines += self._package_lines(package)
        return "\n".join([*lines, *self._last_lines()])

    def _repr_html_(self) -> str:
        """Return the rows of each table, the failures and the durations, which a notebook shows."""
        count = human_count(len(self.packages), "package") if self.packages else "no package"
        return notebook_fragment(
            element("p", element("strong", f"Pipeline {self.pipeline_name}"), f" loaded {count}"),
            facts(
                [
                    ("destination", self.destination_name),
                    ("dataset", self.dataset_name),
                    ("location", self.location),
                    ("took", human_seconds(self._all_seconds())),
                    *((step, human_seconds(seconds)) for step, seconds in self.seconds.items()),
                ]
            ),
            [_package_table(package) for package in self.packages],
            [
                element("p", f"without {job.job_id}: {job.failed_message}", class_="bad")
                for package in self.packages
                for job in package.failed_jobs
            ],
            [element("p", line) for line in self._last_lines()],
        )

    def _all_seconds(self) -> float:
        return sum(self.seconds.values()) if self.total_seconds is None else self.total_seconds

    def _package_lines(self, package: PackageReport) -> Iterator[str]:
        pending = ", pending from an earlier run," if package.load_id in self.pending else ""
        failed = len(package.failed_jobs)
        exclusions = f" without {human_count(failed, 'job')} that failed" if failed else ""
        yield f"Package {package.load_id}{pending} is loaded{exclusions}:"
        yield from _table_lines(package.tables)
        yield from (f"  without {job.job_id}: {job.failed_message}" for job in package.failed_jobs)

    def _last_lines(self) -> list[str]:
        left_out = [f"left out: {why.message}" for why in dict.fromkeys(self.failed_resources.values())]
        return [*left_out, *(f"note: {note}" for note in self.notes)]


def _package_table(package: PackageReport) -> Html:
    rows = [
        (
            table.table,
            "?" if table.rows is None else f"{table.rows:,}",
            None if table.bytes is None else human_size(table.bytes),
            "was committed before" if table.skipped else "",
        )
        for table in sorted(package.tables, key=lambda table: table.table)
    ]
    return table_element(
        f"Package {package.load_id}", ("table", "rows", "size", "note"), rows, numbers=("rows", "size")
    )


def _table_lines(tables: tuple[TableReport, ...]) -> list[str]:
    ordered = sorted(tables, key=lambda table: table.table)
    counts = ["?" if table.rows is None else f"{table.rows:,}" for table in ordered]
    width = max((len(table.table) for table in ordered), default=0)
    digits = max((len(count) for count in counts), default=0)
    return [
        f"  {table.table:<{width}}  {count:>{digits}} row{'' if count == '1' else 's'}"
        + ("  (was committed before)" if table.skipped else "")
        for table, count in zip(ordered, counts, strict=True)
    ]
