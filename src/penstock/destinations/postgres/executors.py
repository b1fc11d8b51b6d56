"""The libraries of executors: looked up once for each load, by one small job of Spark."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from penstock.config import logger
from penstock.destinations.postgres.run import ExecutorsLackPsycopg, assert_executors_have_psycopg

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_LOADS: Final = 16
_LOG = logger("penstock.postgres")


class ExecutorLibraries:
    """Whether executors have psycopg, by load; shared by the clients of a destination."""

    def __init__(self) -> None:
        self._loads: dict[str, bool] = {}
        self._lock = threading.RLock()

    def have_psycopg(self, load_id: str, spark: SparkSession, *, tasks: int) -> bool:
        """Return whether so many tasks can load psycopg; tasks are run only once for a load."""
        with self._lock:
            if load_id not in self._loads:
                try:
                    assert_executors_have_psycopg(spark, tasks=tasks)
                    self._record(load_id, has_psycopg=True)
                except ExecutorsLackPsycopg as error:
                    self.report_missing(load_id, str(error))
            return self._loads[load_id]

    def report_missing(self, load_id: str, reason: str) -> None:
        """Record that an executor has no psycopg, and log it once for a load."""
        with self._lock:
            if self._loads.get(load_id) is False:
                return
            self._record(load_id, has_psycopg=False)
        _LOG.warning(
            "executors cannot load psycopg (%s): Spark's JDBC writer inserts the rows, which is slower than "
            "COPY. Install psycopg[binary] in the Python of the executors",
            reason,
        )

    def _record(self, load_id: str, *, has_psycopg: bool) -> None:
        self._loads[load_id] = has_psycopg
        while len(self._loads) > _MAX_LOADS:
            del self._loads[next(iter(self._loads))]
