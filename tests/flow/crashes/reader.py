"""Somebody on another machine who reads the shop all the while."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.flow.crashes.shop import TABLES, comparable_content, pipeline_at, rows_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from pyspark.sql import SparkSession
    from tests.flow.crashes.lakes import Lake


@dataclass
class Reader:
    """Reads whole datasets for the length of a block, and keeps those that no complete load left behind."""

    root: Path
    spark: SparkSession
    lake: Lake
    whole: list[Any]
    """What the tables hold after each of the loads."""
    reads: int = 0
    mixed: list[str] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Reader:
        self.look()
        self._thread = threading.Thread(target=self._keep_looking)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        self.look()

    def _keep_looking(self) -> None:
        while not self._is_over.wait(0.2):
            self.look()

    def look(self) -> None:
        """Read everything once."""
        self.reads += 1
        try:
            dataset = pipeline_at(self.root, self.spark, destination=self.lake, disk="reader").dataset()
            loaded = dataset.load_ids()
            found = comparable_content(rows_of({table: dataset[table].spark() for table in TABLES}), loaded)[
                "chains"
            ]
        except Exception as error:  # whatever it is, it was seen
            self.mixed.append(f"a reader got {type(error).__name__}: {error}")
            return
        if found != self.whole[len(loaded) - 1]:
            self.mixed.append(f"after {len(loaded)} loads a reader saw {found}")
