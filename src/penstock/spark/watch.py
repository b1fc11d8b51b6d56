"""Tracking of Spark's work per step: running stages, the number of jobs, and their descriptions.

Uses Spark's status API and starts no jobs. Errors of that API are ignored, and missing facts are None.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces.progress import SparkStage
from penstock.spark.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    StageListener = Callable[[Sequence[SparkStage]], None]

_GROUP_PROPERTY: Final = "spark.jobGroup.id"
_DESCRIPTION_PROPERTY: Final = "spark.job.description"
_SEPARATOR: Final = " · "
_CANCEL_DELAYS: Final = (0.5, 1, 2, 4, 8, 16, 32)
"""Seconds between cancellations of the jobs of an interrupted run."""


class SparkWatch:
    """Tracks the work in the sessions of one run, step by step.

    `tell` receives the running stages; without it they are not read. On a classic session jobs are attributed
    by the job group of the calling thread, and described by pipeline, package, step and table. A Connect
    client reports stages only.
    """

    def __init__(
        self,
        run_id: str,
        *,
        pipeline_name: str = "",
        on_stages: StageListener | None = None,
        poll_interval: float = 0.5,
    ) -> None:
        self._run_id, self._on_stages, self._poll_interval = run_id, on_stages, poll_interval
        self._pipeline_name, self._step, self._load_id = pipeline_name, "", ""
        self._thread = _ThreadState()
        self._jobs: dict[str, set[int]] = {}
        self._uncounted_steps: set[str] = set()
        self._groups: dict[str, frozenset[int]] = {}
        self._own_groups: dict[str, _JobGroup] = {}
        self._operations: dict[str | None, Sequence[SparkStage]] = {}
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._poller: threading.Thread | None = None

    def begin(self, step: str, load_id: str = "") -> None:
        """Attribute sessions that are lent from now on to this step, if given of one package."""
        self._step, self._load_id = step, load_id

    def job_count(self, step: str) -> int | None:
        """Return the number of Spark jobs of a step; None if Spark does not report it."""
        return None if step in self._uncounted_steps else len(self._jobs.get(step, ()))

    @contextmanager
    def track(self, spark: SparkSession) -> Iterator[None]:
        """Track the jobs that this thread starts with a session in a block."""
        step = self._step
        if is_connect(spark):
            self._uncounted_steps.add(step)
            with self._track_connect(spark):
                yield
        else:
            with self._track_group(spark, step):
                yield

    @contextmanager
    def describe(self, table: str) -> Iterator[None]:
        """Name a table in the descriptions of jobs that this thread starts in a block."""
        table_before, self._thread.table = self._thread.table, table
        self._describe_again()
        try:
            yield
        finally:
            self._thread.table = table_before
            self._describe_again()

    def _describe_again(self) -> None:
        if self._thread.groups:
            with suppress(Exception):  # a platform may deny it, and the JVM may have died
                self._thread.groups[-1].describe(self._thread.table)

    def interrupt(self) -> None:
        """Cancel the jobs of the run, also those in the user's session; other jobs of it continue.

        A call that was interrupted while Spark planned submits its job afterwards, so cancellation is
        repeated for a minute in a separate thread. The groups belong to this run alone.
        """
        with self._lock:
            groups = list(self._own_groups.values())
        for group in groups:
            group.cancel()
        if groups:
            threading.Thread(
                target=_repeat_cancel, args=(groups,), name="penstock-cancel", daemon=True
            ).start()

    def close(self) -> None:
        """Stop tracking."""
        self._stopped.set()

    @contextmanager
    def _track_group(self, spark: SparkSession, step: str) -> Iterator[None]:
        group = self._enter_group(spark, step)
        if group is None:
            self._uncounted_steps.add(step)
            yield
            return
        with self._lock:
            self._groups.setdefault(group.name, group.jobs_before)
            if group.is_own:
                self._own_groups[group.name] = group
        self._start_polling(group.tracker)
        groups = self._thread.groups
        groups.append(group)
        self._describe_again()
        try:
            yield
        finally:
            groups.remove(group)
            with suppress(Exception):  # a JVM that died has already raised its own error
                self._jobs.setdefault(step, set()).update(group.jobs())
                group.leave()

    def _enter_group(self, spark: Any, step: str) -> _JobGroup | None:
        try:
            title = _SEPARATOR.join(filter(None, (self._pipeline_name, self._load_id, step)))
            name = f"penstock-{self._run_id}-{step}"
            return _JobGroup.enter(spark.sparkContext, name, title, outer=self._thread.groups[-1:])
        except Exception:  # platforms may refuse all of it with various errors
            return None

    @contextmanager
    def _track_connect(self, spark: Any) -> Iterator[None]:
        if self._on_stages is None:
            yield
            return
        # One per call: a session that is lent twice at once must keep both.
        handler = partial(self._on_connect_progress)
        with suppress(Exception):  # as above
            spark.registerProgressHandler(handler)
        try:
            yield
        finally:
            with suppress(Exception):
                spark.removeProgressHandler(handler)

    def _on_connect_progress(
        self, *, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """Receive the progress of an operation from the Spark Connect client."""
        del inflight_tasks
        with self._lock:
            self._operations[operation_id] = tuple(_connect_stages(stages or ()))
            if done:
                del self._operations[operation_id]
            stages = [stage for operation_stages in self._operations.values() for stage in operation_stages]
        if self._on_stages is not None:
            with suppress(Exception):  # an error of the observer must not fail the operation
                self._on_stages(stages)

    def _start_polling(self, tracker: Any) -> None:
        if self._on_stages is None or self._poller is not None:
            return
        self._poller = threading.Thread(
            target=self._poll_stages, args=(tracker, self._on_stages), name="penstock-stages", daemon=True
        )
        self._poller.start()

    def _poll_stages(self, tracker: Any, on_stages: StageListener) -> None:
        while not self._stopped.wait(self._poll_interval):
            with self._lock:
                groups = dict(self._groups)
            try:
                on_stages(active_stages(tracker, groups) if groups else ())
            except Exception:  # as above; it is optional
                return


class _ThreadState(threading.local):
    """The table and the job groups of a thread."""

    def __init__(self) -> None:
        self.table = ""
        self.groups: list[_JobGroup] = []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _JobGroup:
    """The job group of a thread: the user's if set, otherwise a new one; likewise the description."""

    context: Any
    tracker: Any
    name: str
    jobs_before: frozenset[int]
    is_own: bool
    title: str
    """The beginning of descriptions; empty if the user's is kept."""
    description_before: str | None

    @staticmethod
    def enter(context: Any, name: str, title: str, *, outer: Sequence[_JobGroup]) -> _JobGroup:
        tracker, group = context.statusTracker(), context.getLocalProperty(_GROUP_PROPERTY)
        description = context.getLocalProperty(_DESCRIPTION_PROPERTY)
        earlier_jobs = frozenset(tracker.getJobIdsForGroup(group or name))
        if group is None:
            context.setLocalProperty(_GROUP_PROPERTY, name)
        return _JobGroup(
            context=context,
            tracker=tracker,
            name=group or name,
            jobs_before=earlier_jobs,
            is_own=group is None,
            title=title if description is None or any(group.title for group in outer) else "",
            description_before=description,
        )

    def describe(self, table: str) -> None:
        """Describe the next jobs of the thread, unless the user has described them."""
        if self.title:
            description = f"{self.title}{_SEPARATOR}{table}" if table else self.title
            self.context.setLocalProperty(_DESCRIPTION_PROPERTY, description)

    def jobs(self) -> set[int]:
        """Return the jobs that have started since."""
        return set(self.tracker.getJobIdsForGroup(self.name)) - self.jobs_before

    def cancel(self) -> None:
        self.context.cancelJobGroup(self.name)

    def leave(self) -> None:
        if self.title:
            self.context.setLocalProperty(_DESCRIPTION_PROPERTY, self.description_before)
        if self.is_own:
            self.context.setLocalProperty(_GROUP_PROPERTY, None)


def _repeat_cancel(groups: Sequence[_JobGroup]) -> None:
    for seconds in _CANCEL_DELAYS:
        time.sleep(seconds)
        with suppress(Exception):  # a stopped session has no jobs
            for group in groups:
                group.cancel()


def active_stages(tracker: Any, groups: Mapping[str, frozenset[int]]) -> list[SparkStage]:
    """Return the running stages of these job groups; earlier jobs in them are not ours."""
    active = set(tracker.getActiveJobsIds())
    jobs_of_groups = {
        job
        for group, earlier_jobs in groups.items()
        for job in set(tracker.getJobIdsForGroup(group)) - earlier_jobs
    }
    jobs = [tracker.getJobInfo(job) for job in sorted(jobs_of_groups & active)]
    stages = dict.fromkeys(stage for job in jobs if job is not None for stage in job.stageIds)
    infos = [tracker.getStageInfo(stage) for stage in stages]
    return [
        SparkStage(stage_id=stage.stageId, tasks=stage.numTasks, done=stage.numCompletedTasks)
        for stage in infos
        if stage is not None and (stage.numActiveTasks or 0 < stage.numCompletedTasks < stage.numTasks)
    ]


def _connect_stages(stages: Iterable[Any]) -> Iterator[SparkStage]:
    for stage in stages:
        if not stage.done:
            yield SparkStage(stage_id=stage.stage_id, tasks=stage.num_tasks, done=stage.num_completed_tasks)
