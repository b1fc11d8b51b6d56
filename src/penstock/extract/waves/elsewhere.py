"""The way to the executors that a pipeline offers to extract."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.extract.nodes import Node
from penstock.extract.waves.landed import Landed, landed_tables
from penstock.extract.waves.run import run_waves
from penstock.extract.waves.there import ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.extract.plan import Workload
    from penstock.extract.tables import TableBook
    from penstock.extract.waves.split import WaveWork
    from penstock.package import Package
    from penstock.package.extracted import ExtractedTable


class Elsewhere:
    """Runs resources with work items on the executors of a session."""

    def __init__(self, sessions: Callable[[], AbstractContextManager[SparkSession]]) -> None:
        self._sessions = sessions

    def run(self, works: Iterable[WaveWork], package: Package, book: TableBook, load: Workload) -> Landed:
        """Do all waves that are not done yet; what they gave is told as if it had been done now."""
        tables: list[ExtractedTable] = []
        rows: Counter[str] = Counter()
        put_aside: Counter[str] = Counter()
        for work in works:
            node = Node(work.stream)
            with self._sessions() as spark:
                waves = node.context.run(run_waves, work, package, spark=spark, load=load)
            rows[node.name] = sum(sum(wave.rows.values()) for wave in waves)
            if bad := sum(wave.rows.get(ASIDE, 0) for wave in waves):
                put_aside[node.name] = bad
            tables += landed_tables(node, waves, book)
        return Landed(tables=tuple(tables), rows=rows, put_aside=put_aside)
