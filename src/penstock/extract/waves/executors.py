"""The way to the executors that a pipeline offers to extract."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.extract.nodes import Node
from penstock.extract.waves.executor_task import QUARANTINE_PART
from penstock.extract.waves.result import WaveResult, wave_tables
from penstock.extract.waves.run import run_waves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from penstock.extract.cursor.cursors import Cursors
    from penstock.extract.plan import Workload
    from penstock.extract.routing import TableRouter
    from penstock.extract.waves.checkpoints import Wave
    from penstock.extract.waves.split import WaveResource
    from penstock.package import Package


class ExecutorBackend:
    """Runs resources with work items on the executors of a session.

    `check` raises when this run is not the one that may extract any more; it is asked around every wave.
    """

    def __init__(
        self, sessions: Callable[[], AbstractContextManager[SparkSession]], assert_leased: Callable[[], None]
    ) -> None:
        self._sessions, self._assert_leased = sessions, assert_leased

    def run(
        self,
        resources: Iterable[WaveResource],
        package: Package,
        router: TableRouter,
        *,
        workload: Workload,
        cursors: Cursors,
        report_rows: Callable[[Mapping[str, int]], None],
    ) -> WaveResult:
        """Do all waves that are not done yet; what they gave is told as if it had been done now."""
        landed = WaveResult()
        for work in resources:
            node = Node(work.stream, cursors)
            try:
                self._run(
                    node, work, package, router, workload=workload, result=landed, report_rows=report_rows
                )
            except PenstockError as error:
                if workload.on_error == "raise":
                    raise
                landed.failures[node.name] = error
                landed.rows.pop(node.name, None)
        return landed

    def _run(
        self,
        node: Node,
        resource: WaveResource,
        package: Package,
        router: TableRouter,
        *,
        workload: Workload,
        result: WaveResult,
        report_rows: Callable[[Mapping[str, int]], None],
    ) -> None:
        def around(waves: Sequence[Wave]) -> None:
            self._assert_leased()
            result.rows[node.name] = sum(sum(wave.rows.values()) for wave in waves)
            report_rows(result.rows)

        with self._sessions() as spark:
            waves = node.run(
                partial(run_waves, resource, package, spark=spark, workload=workload, between_waves=around)
            )
        result.tables.extend(wave_tables(node, waves, router))
        if bad := sum(wave.rows.get(QUARANTINE_PART, 0) for wave in waves):
            result.quarantined_rows[node.name] = bad
