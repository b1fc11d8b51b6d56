"""Jobs and stages, of fakes that answer as Spark's tracker and its Connect client do."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.progress import SparkStage
from penstock.spark.watch import SparkWatch, active_stages

if TYPE_CHECKING:
    from collections.abc import Sequence


DESCRIPTION = "spark.job.description"


@dataclass
class Context:
    """A context whose threads have groups, and its own tracker."""

    jobs: list[str | None] = field(default_factory=list)
    """The group of each job, in the order of their ids."""
    active: set[int] = field(default_factory=set)
    stages: dict[int, Any] = field(default_factory=dict)
    local: threading.local = field(default_factory=threading.local)
    gone: bool = False

    def statusTracker(self) -> Context:  # noqa: N802 - Spark's
        return self

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802
        assert key in {"spark.jobGroup.id", DESCRIPTION}
        value: str | None = getattr(self.local, key, None)
        return value

    def setLocalProperty(self, key: str, value: str | None) -> None:  # noqa: N802
        assert key in {"spark.jobGroup.id", DESCRIPTION}
        setattr(self.local, key, value)

    def getJobIdsForGroup(self, group: str) -> list[int]:  # noqa: N802
        if self.gone:
            raise ConnectionError("the JVM is gone")
        return [job for job, found in enumerate(self.jobs) if found == group]

    def getActiveJobsIds(self) -> list[int]:  # noqa: N802
        return sorted(self.active)

    def getJobInfo(self, job: int) -> Any:  # noqa: N802
        return None if job == 99 else SimpleNamespace(stageIds=[10 * job, 10 * job + 1])

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802
        return self.stages.get(stage)

    def start(self, jobs: int = 1) -> None:
        """Jobs that this thread starts."""
        self.jobs += [self.getLocalProperty("spark.jobGroup.id")] * jobs


def classic(context: Context) -> Any:
    return SimpleNamespace(sparkContext=context)


class Connect:
    """A client of Spark Connect, as far as it is asked."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []
        self.removeProgressHandler = self.handlers.remove

    def registerProgressHandler(self, handler: Any) -> None:  # noqa: N802 - Spark's
        if handler not in self.handlers:
            self.handlers.append(handler)

    def tell(self, *stages: tuple[int, int, bool], operation: str = "a", done: bool = False) -> None:
        found = [
            SimpleNamespace(stage_id=number, num_tasks=8, num_completed_tasks=ready, done=over)
            for number, ready, over in stages
        ]
        for handler in self.handlers:
            handler(stages=found, inflight_tasks=1, operation_id=operation, done=done)


Connect.__module__ = "pyspark.sql.connect.session"


def stage(number: int, *, tasks: int, done: int, active: int) -> Any:
    return SimpleNamespace(stageId=number, numTasks=tasks, numCompletedTasks=done, numActiveTasks=active)


def test_jobs_are_counted_for_the_step_that_started_them_in_all_its_threads() -> None:
    context, watch = Context(), SparkWatch("run")
    context.start(3)

    def work() -> None:
        with watch.track(classic(context)):
            context.start(2)

    watch.begin("normalize")
    work()
    watch.begin("load")
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    context.start()

    assert [watch.job_count(step) for step in ("extract", "normalize", "load")] == [0, 2, 8]


def test_a_thread_has_no_group_of_ours_after_the_block_even_if_it_breaks() -> None:
    context, watch = Context(), SparkWatch("run")

    def work() -> None:
        with watch.track(classic(context)):
            context.start()
            raise KeyError("x")

    watch.begin("load")
    with pytest.raises(KeyError):
        work()

    assert context.getLocalProperty("spark.jobGroup.id") is None
    assert watch.job_count("load") == 1


def test_the_group_of_the_user_stays_and_only_new_jobs_of_it_count() -> None:
    context, watch = Context(), SparkWatch("run")
    context.setLocalProperty("spark.jobGroup.id", "cell 7")
    context.start(5)

    watch.begin("extract")
    with watch.track(classic(context)):
        assert context.getLocalProperty("spark.jobGroup.id") == "cell 7"
        context.start(2)

    assert context.getLocalProperty("spark.jobGroup.id") == "cell 7"
    assert watch.job_count("extract") == 2


def test_blocks_in_blocks_count_a_job_once() -> None:
    context, watch = Context(), SparkWatch("run")

    watch.begin("extract")
    with watch.track(classic(context)):
        context.start()
        with watch.track(classic(context)):
            context.start()
        context.start()

    assert watch.job_count("extract") == 3
    assert context.getLocalProperty("spark.jobGroup.id") is None


def test_jobs_are_described_by_pipeline_package_step_and_table_in_each_thread() -> None:
    context, watch = Context(), SparkWatch("run", pipeline_name="shop")
    texts: dict[str, list[str | None]] = {}

    def work(table: str) -> None:
        texts[table] = [context.getLocalProperty(DESCRIPTION)]
        with watch.describe(table):
            with watch.track(classic(context)):
                texts[table].append(context.getLocalProperty(DESCRIPTION))
            texts[table].append(context.getLocalProperty(DESCRIPTION))

    watch.begin("load", "17.5")
    threads = [threading.Thread(target=work, args=[table]) for table in ("orders", "items")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert texts == {table: [None, f"shop · 17.5 · load · {table}", None] for table in ("orders", "items")}


def test_a_session_that_is_lent_for_several_tables_is_described_by_each() -> None:
    context, watch = Context(), SparkWatch("run", pipeline_name="shop")
    texts: list[str | None] = []

    watch.begin("extract")
    with watch.track(classic(context)):
        texts.append(context.getLocalProperty(DESCRIPTION))
        for table in ("orders", "items"):
            with watch.describe(table), watch.track(classic(context)):
                texts.append(context.getLocalProperty(DESCRIPTION))
        texts.append(context.getLocalProperty(DESCRIPTION))

    assert texts == ["shop · extract", "shop · extract · orders", "shop · extract · items", "shop · extract"]
    assert context.getLocalProperty(DESCRIPTION) is None


def test_a_description_of_the_user_is_kept() -> None:
    context, watch = Context(), SparkWatch("run", pipeline_name="shop")
    context.setLocalProperty(DESCRIPTION, "cell 7")

    watch.begin("load")
    with watch.describe("orders"), watch.track(classic(context)), watch.track(classic(context)):
        description = context.getLocalProperty(DESCRIPTION)

    assert (description, context.getLocalProperty(DESCRIPTION)) == ("cell 7", "cell 7")


def test_errors_of_a_platform_are_ignored() -> None:
    watch, done = SparkWatch("run"), []

    watch.begin("load")
    with watch.track(SimpleNamespace()):  # type: ignore[arg-type] # no context at all
        done.append(1)

    assert (watch.job_count("load"), done) == (None, [1])


def test_a_jvm_that_dies_leaves_the_error_of_the_work() -> None:
    context, watch = Context(), SparkWatch("run")

    def work() -> None:
        with watch.track(classic(context)):
            context.gone = True
            raise KeyError("the work")

    with pytest.raises(KeyError, match="the work"):
        work()


def test_connect_reports_stages_and_no_jobs() -> None:
    told: list[Sequence[SparkStage]] = []
    spark: Any = Connect()
    watch = SparkWatch("run", on_stages=told.append)

    watch.begin("load")
    with watch.track(spark):
        spark.tell((3, 2, False), (2, 8, True))
        spark.tell((7, 0, False), operation="b")
        spark.tell(operation="a", done=True)
        spark.tell(operation="b", done=True)

    assert [[(one.stage_id, one.done, one.tasks) for one in found] for found in told] == [
        [(3, 2, 8)],
        [(3, 2, 8), (7, 0, 8)],
        [(7, 0, 8)],
        [],
    ]
    assert (watch.job_count("load"), watch.job_count("extract"), spark.handlers) == (None, 0, [])


def test_a_connect_session_that_is_lent_twice_at_once_is_let_go_twice() -> None:
    spark: Any = Connect()
    watch = SparkWatch("run", on_stages=lambda found: None)

    with watch.track(spark):
        with watch.track(spark):
            assert len(spark.handlers) == 2
        assert len(spark.handlers) == 1

    assert spark.handlers == []


def test_stages_are_not_read_without_an_observer() -> None:
    spark: Any = Connect()
    watch = SparkWatch("run")

    with watch.track(spark):
        assert spark.handlers == []
    with watch.track(classic(Context())):
        assert watch._poller is None


def test_an_error_of_the_observer_does_not_stop_the_work() -> None:
    spark: Any = Connect()

    def broken(found: Sequence[SparkStage]) -> None:
        raise KeyError("the screen is gone")

    with SparkWatch("run", on_stages=broken).track(spark):
        spark.tell((3, 2, False))


def test_stages_of_a_classic_session_are_asked_for_until_it_is_over() -> None:
    seen = threading.Event()
    context = Context(stages={0: stage(0, tasks=8, done=3, active=2)}, active={0})

    def tell(found: Sequence[SparkStage]) -> None:
        if found == [SparkStage(stage_id=0, tasks=8, done=3)]:
            seen.set()

    watch = SparkWatch("run", on_stages=tell, poll_interval=0.01)
    with watch.track(classic(context)):
        context.start()
        assert seen.wait(10)
    watch.close()

    assert watch._poller is not None
    watch._poller.join(10)
    assert not watch._poller.is_alive()


@given(
    groups=st.lists(st.sampled_from(("ours", "theirs", None)), max_size=9),
    active=st.sets(st.integers(0, 8)),
    before=st.sets(st.integers(0, 8)),
    facts=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=9, max_size=9),
)
def test_only_stages_that_run_for_our_jobs_are_shown(
    groups: list[str | None], active: set[int], before: set[int], facts: list[tuple[int, int]]
) -> None:
    stages = {
        10 * job: stage(10 * job, tasks=4, done=done, active=running)
        for job, (done, running) in enumerate(facts)
    }
    context = Context(jobs=groups, active=active, stages=stages)

    found = active_stages(context, {"ours": frozenset(before)})

    wanted = [job for job, group in enumerate(groups) if group == "ours" and job in active - before]
    running = [job for job in wanted if facts[job][1] or 0 < facts[job][0] < 4]
    assert [one.stage_id for one in found] == [10 * job for job in running]


def test_a_job_that_the_tracker_has_forgotten_has_no_stages() -> None:
    context = Context(jobs=["ours"] * 100, active={99})

    assert active_stages(context, {"ours": frozenset()}) == []
