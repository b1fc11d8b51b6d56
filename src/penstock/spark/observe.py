"""The one guarded way to use `Observation`: a time limit, and an honest None."""

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
_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Observed:
    """What was counted while a frame was written."""

    observation: Observation

    def rows(self, *, seconds: float = _SECONDS) -> int | None:
        """Rows that passed, to be asked for after the write. None when Spark did not answer in time."""
        return (self.values(seconds=seconds) or {}).get(_ROWS)

    def values(self, *, seconds: float = _SECONDS) -> dict[str, Any] | None:
        """All that was observed, `rows` among it; None when Spark did not answer in time.

        It never answers when the write was skipped or the plan was folded to nothing, so nobody may wait for
        it.
        """
        answer: dict[str, Any] = {}

        def ask() -> None:
            try:
                answer.update(self.observation.get)
            except PySparkException:
                return

        asker = threading.Thread(target=ask, name="penstock-observe", daemon=True)
        asker.start()
        asker.join(seconds)
        return dict(answer) if _ROWS in answer else None


def observed(frame: DataFrame, more: Mapping[str, Column] | None = None) -> tuple[DataFrame, Observed]:
    """Count the rows of a frame as it is written. It must stand after the last shuffle of the plan.

    `more` are aggregates to be observed beside, by name.
    """
    observation = Observation()
    aggregates = [column.alias(name) for name, column in (more or {}).items()]
    return frame.observe(observation, F.count(F.lit(1)).alias(_ROWS), *aggregates), Observed(observation)
