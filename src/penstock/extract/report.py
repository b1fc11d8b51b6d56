"""The result of extraction, for each package and for a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.interfaces.humanize import human_count, human_size
from penstock.package.metrics import DataWriterAndCustomMetrics, metric_rows, sum_by_table, time_after
from penstock.package.step_result import StepResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from penstock.errors import PenstockError
    from penstock.package.extract_manifest import ExtractedTable
    from penstock.package.metrics import DataWriterMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractReport:
    """One package: its tables, the rows of each resource, and the seconds they took."""

    load_id: str
    tables: tuple[ExtractedTable, ...]
    seconds: float
    resources: Mapping[str, int] = field(default_factory=dict)
    quarantined_rows: Mapping[str, int] = field(default_factory=dict)
    """Rows without a JSON form, by resource; they are stored in the table `_dlt_quarantine`."""
    failures: Mapping[str, PenstockError] = field(default_factory=dict)
    """The errors of excluded resources, by name; only with `on_error="continue"`."""
    custom_metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The metrics that resources count with `add_metrics`, by name."""
    schema_name: str = ""
    started_at: datetime | None = None
    jobs: Mapping[str, DataWriterMetrics] = field(default_factory=dict)
    """Rows and bytes of each job, by its id."""

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def metrics(self) -> dict[str, Any]:
        """The measurements of the extraction, by job, table and resource."""
        return {
            "started_at": self.started_at,
            "finished_at": time_after(self.started_at, self.seconds),
            "schema_name": self.schema_name,
            "job_metrics": self.jobs,
            "table_metrics": sum_by_table(self.jobs),
            "resource_metrics": {name: self._resource_metrics(name) for name in self.resources},
        }

    def _resource_metrics(self, name: str) -> DataWriterAndCustomMetrics:
        """Return the metrics of a resource; its bytes are unknown if it shares a table with another one."""
        rows = self.resources[name]
        tables = [table for table in self.tables if table.resource == name]
        file_size = sum(table.bytes for table in tables)
        return DataWriterAndCustomMetrics(
            file_path="",
            items_count=rows,
            file_size=file_size if sum(table.rows for table in tables) == rows else None,
            custom_metrics=self.custom_metrics.get(name, {}),
        )

    def __str__(self) -> str:
        size = human_size(sum(table.bytes for table in self.tables))
        took = f"in {self.seconds:.1f} s in package {self.load_id}"
        lines = [f"{human_count(self.rows, 'row')} ({size}) {took}"]
        # A table may be written by several resources or waves.
        counts: Counter[str] = Counter()
        for table in self.tables:
            counts[table.table] += table.rows
        lines += [f"- {name}: {human_count(rows, 'row')}" for name, rows in counts.items()]
        lines += [f"- {name}: {count:,} quarantined" for name, count in self.quarantined_rows.items()]
        lines += [f"- {name} was excluded: {error.message}" for name, error in self.failures.items()]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractInfo(StepResult[ExtractReport]):
    """The result of `Pipeline.extract`: the packages that are pending. `print` it."""

    location: str
    """The folder of the packages."""

    @property
    def rows(self) -> int:
        """Rows of all packages."""
        return sum(package.rows for package in self.packages)

    @property
    def failures(self) -> dict[str, PenstockError]:
        """The errors of excluded resources, by name."""
        return {name: why for package in self.packages for name, why in package.failures.items()}

    @property
    def extract_data_info(self) -> list[dict[str, str]]:
        """The extracted resources."""
        names = dict.fromkeys(name for package in self.packages for name in package.resources)
        return [{"name": name, "data_type": "resource"} for name in names]

    def recorded_facts(self) -> dict[str, Any]:
        """Return the plain data that a trace keeps."""
        return {
            **StepResult.recorded_facts(self),
            "job_metrics": [*metric_rows("job_id", self.metrics_by_load("job_metrics"))],
            "table_metrics": [*metric_rows("table_name", self.metrics_by_load("table_metrics"))],
            "resource_metrics": [*metric_rows("resource_name", self.metrics_by_load("resource_metrics"))],
            "location": self.location,
            "seconds": sum((package.seconds for package in self.packages), 0.0),
            "rows": self.rows,
            "bytes": sum(table.bytes for package in self.packages for table in package.tables),
            "tables": [
                {
                    "load_id": package.load_id,
                    "table": table.table,
                    "resource": table.resource,
                    "rows": table.rows,
                    "bytes": table.bytes,
                }
                for package in self.packages
                for table in package.tables
            ],
            "quarantined_rows": [
                {"load_id": package.load_id, "resource": name, "rows": count}
                for package in self.packages
                for name, count in package.quarantined_rows.items()
            ],
            "failed_resources": [
                {"resource": name, "error": why.message} for name, why in self.failures.items()
            ],
        }

    def __str__(self) -> str:
        if not self.packages:
            return f"Pipeline {self.pipeline_name!r} had nothing to extract"
        rows = human_count(self.rows, "row")
        begin = f"Pipeline {self.pipeline_name!r} extracted {rows} to {self.location}"
        return "\n".join([begin, *map(str, self.packages)])
