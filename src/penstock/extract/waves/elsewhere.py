"""The way to the executors that a pipeline offers to extract."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.extract.nodes import Node
from penstock.extract.waves.landed import Landed, landed_tables
from penstock.extract.waves.run import run_waves
from penstock.extract.waves.there import ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.extract.cursor.cursors import Cursors
    from penstock.extract.plan import Workload
    from penstock.extract.tables import TableBook
    from penstock.extract.waves.ledger import Wave
    from penstock.extract.waves.split import WaveWork
    from penstock.package import Package


class Elsewhere:
    """Runs resources with work items on the executors of a session.

    `check` raises when this run is not the one that may extract any more; it is asked around every wave.
    """

    def __init__(
        self, sessions: Callable[[], AbstractContextManager[SparkSession]], check: Callable[[], None]
    ) -> None:
        self._sessions, self._check = sessions, check

    def run(
        self,
        works: Iterable[WaveWork],
        package: Package,
        book: TableBook,
        *,
        load: Workload,
        cursors: Cursors,
        tell: Callable[[Mapping[str, int]], None],
    ) -> Landed:
        """Do all waves that are not done yet; what they gave is told as if it had been done now."""
        landed = Landed()
        for work in works:
            node = Node(work.stream, cursors)
            try:
                self._run(node, work, package, book, load=load, landed=landed, tell=tell)
            except PenstockError as error:
                if load.on_error == "raise":
                    raise
                landed.failures[node.name] = error
                landed.rows.pop(node.name, None)
        return landed

    def _run(
        self,
        node: Node,
        work: WaveWork,
        package: Package,
        book: TableBook,
        *,
        load: Workload,
        landed: Landed,
        tell: Callable[[Mapping[str, int]], None],
    ) -> None:
        def around(waves: Sequence[Wave]) -> None:
            self._check()
            landed.rows[node.name] = sum(sum(wave.rows.values()) for wave in waves)
            tell(landed.rows)

        with self._sessions() as spark:
            waves = node.run(partial(run_waves, work, package, spark=spark, load=load, around=around))
        landed.tables.extend(landed_tables(node, waves, book))
        if bad := sum(wave.rows.get(ASIDE, 0) for wave in waves):
            landed.put_aside[node.name] = bad
