"""The one guarded way to use `Observation`: a time limit, and an honest None."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Observed:
    """What was counted while a frame was written."""

    observation: Observation

    def rows(self, *, seconds: float = 5.0) -> int | None:
        """Rows that passed, to be asked for after the write. None when Spark did not answer in time.

        It never answers when the write was skipped or the plan was folded to nothing, so nobody may wait for
        it.
        """
        answer = self.answers(seconds=seconds)
        return None if answer is None else answer[_ROWS]

    def answers(self, *, seconds: float = 5.0) -> dict[str, Any] | None:
        """All that was counted, by name; None when Spark did not answer in time."""
        answer: dict[str, Any] = {}

        def ask() -> None:
            try:
                answer.update(self.observation.get)
            except PySparkException as error:
                answer["error"] = error

        asker = threading.Thread(target=ask, name="penstock-observe", daemon=True)
        asker.start()
        asker.join(seconds)
        return None if not answer or "error" in answer else answer


def observed(frame: DataFrame, **more: Column) -> tuple[DataFrame, Observed]:
    """Count the rows of a frame as it is written. It must stand after the last shuffle of the plan.

    `more` are further aggregates by name.
    """
    observation = Observation()
    asked = [F.count(F.lit(1)).alias(_ROWS), *(column.alias(name) for name, column in more.items())]
    return frame.observe(observation, *asked), Observed(observation)
