"""The backend that runs resources with work items on executors."""

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

    `assert_leased` raises if this run has lost its lease; it is called before each wave and each checkpoint.
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
        """Run the pending waves; return the results of all waves, also of earlier runs."""
        result = WaveResult()
        for resource in resources:
            node = Node(resource.stream, cursors)
            try:
                self._run(
                    node, resource, package, router, workload=workload, result=result, report_rows=report_rows
                )
            except PenstockError as error:
                if workload.on_error == "raise":
                    raise
                result.failures[node.name] = error
                result.rows.pop(node.name, None)
        return result

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
        def on_waves(waves: Sequence[Wave]) -> None:
            self._assert_leased()
            result.rows[node.name] = sum(sum(wave.rows.values()) for wave in waves)
            report_rows(result.rows)

        with self._sessions() as spark:
            waves = node.run(
                partial(run_waves, resource, package, spark=spark, workload=workload, between_waves=on_waves)
            )
        result.tables.extend(wave_tables(node, waves, router))
        if bad := sum(wave.rows.get(QUARANTINE_PART, 0) for wave in waves):
            result.quarantined_rows[node.name] = bad
