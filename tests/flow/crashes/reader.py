"""A reader on another machine that reads the shop continuously."""

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
    """A thread that reads the dataset during a block, and records reads that mix loads."""

    root: Path
    spark: SparkSession
    lake: Lake
    contents: list[Any]
    """The content of the tables after each load."""
    reads: int = 0
    mixed: list[str] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Reader:
        self.read_once()
        self._thread = threading.Thread(target=self._read_repeatedly)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        self.read_once()

    def _read_repeatedly(self) -> None:
        while not self._is_over.wait(0.2):
            self.read_once()

    def read_once(self) -> None:
        """Read all tables once."""
        self.reads += 1
        try:
            dataset = pipeline_at(self.root, self.spark, destination=self.lake, disk="reader").dataset()
            loaded = dataset.load_ids()
            result = comparable_content(rows_of({table: dataset[table].spark() for table in TABLES}), loaded)[
                "chains"
            ]
        except Exception as error:  # a reader must get no error
            self.mixed.append(f"a reader got {type(error).__name__}: {error}")
            return
        if result != self.contents[len(loaded) - 1]:
            self.mixed.append(f"after {len(loaded)} loads a reader saw {result}")
