"""The measurements of a step, by job, table and resource, as dlt's infos have them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class DataWriterMetrics(NamedTuple):
    """Rows and bytes that were written; None for a number that was not measured.

    >>> DataWriterMetrics("data/items", 3, 120) + DataWriterMetrics("data/more", 1, 40)
    DataWriterMetrics(file_path='', items_count=4, file_size=160, created=None, last_modified=None)
    """

    file_path: str
    items_count: int | None
    file_size: int | None
    created: float | None = None
    last_modified: float | None = None

    def __add__(self, other: Any) -> DataWriterMetrics:
        """Return the sums; the sum of several files has no path."""
        return DataWriterMetrics(
            "",
            _sum_if_known(self.items_count, other.items_count),
            _sum_if_known(self.file_size, other.file_size),
        )


class DataWriterAndCustomMetrics(NamedTuple):
    """Rows and bytes of a resource, with the metrics that it counts itself."""

    file_path: str
    items_count: int | None
    file_size: int | None
    created: float | None = None
    last_modified: float | None = None
    custom_metrics: Mapping[str, Any] = {}


class LoadJobMetrics(NamedTuple):
    """One job of a load; without times if an earlier process ran it."""

    job_id: str
    file_path: str
    table_name: str
    started_at: datetime | None
    finished_at: datetime | None
    state: str
    remote_url: str | None = None
    retry_count: int = 0
    followup_jobs: tuple[str, ...] = ()


def sum_by_table(jobs: Mapping[str, DataWriterMetrics]) -> dict[str, DataWriterMetrics]:
    """Return the sums of the jobs of each table.

    >>> first, second = DataWriterMetrics("a", 1, 10), DataWriterMetrics("b", 2, 5)
    >>> sums = sum_by_table({"items.0a.parquet": first, "items.0b.parquet": second})
    >>> sums["items"].items_count, sums["items"].file_size
    (3, 15)
    """
    sums: dict[str, DataWriterMetrics] = {}
    for job_id, measured in jobs.items():
        table = job_id.partition(".")[0]
        sums[table] = sums.get(table, DataWriterMetrics("", 0, 0)) + measured
    return sums


def metric_rows(key: str, metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a flat row for each metric of each package, which can be loaded as a table.

    >>> list(metric_rows("table_name", {"17.5": {"items": DataWriterMetrics("", 3, 120)}}))[0]["items_count"]
    3
    """
    for load_id, by_name in metrics.items():
        for name, measured in by_name.items():
            values = {field: _plain(value) for field, value in measured._asdict().items()}
            yield {"load_id": load_id, key: name, **values}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def time_after(started_at: datetime | None, seconds: float) -> datetime | None:
    """Return the end of a measured duration; None if its start is unknown."""
    return None if started_at is None else started_at + timedelta(seconds=seconds)


def _sum_if_known(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
