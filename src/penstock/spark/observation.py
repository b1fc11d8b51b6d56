"""Guarded use of Spark's `Observation`: with a time limit, None if Spark does not report."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

_ROWS = "rows"
_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WriteMetrics:
    """Aggregates observed while a frame is written."""

    observation: Observation

    def rows(self, *, timeout: float = _TIMEOUT_SECONDS) -> int | None:
        """Return the number of rows after the write; None if Spark does not report it in time."""
        return (self.values(timeout=timeout) or {}).get(_ROWS)

    def values(self, *, timeout: float = _TIMEOUT_SECONDS) -> dict[str, Any] | None:
        """Return all aggregates, including `rows`; None if Spark does not report them in time.

        Spark never reports if the write was skipped or the plan was folded to nothing.
        """
        values: dict[str, Any] = {}

        def ask() -> None:
            try:
                values.update(self.observation.get)
            except PySparkException:
                return

        asker = threading.Thread(target=ask, name="penstock-observe", daemon=True)
        asker.start()
        asker.join(timeout)
        return dict(values) if _ROWS in values else None


def observe_frame(
    frame: DataFrame, metrics: Mapping[str, Column] | None = None
) -> tuple[DataFrame, WriteMetrics]:
    """Count the rows of a frame as it is written. Use it after the last shuffle of the plan.

    `more` are further aggregates to observe, by name.
    """
    observation = Observation()
    aggregates = [column.alias(name) for name, column in (metrics or {}).items()]
    return frame.observe(observation, F.count(F.lit(1)).alias(_ROWS), *aggregates), WriteMetrics(observation)
