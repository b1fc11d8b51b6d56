"""Public calls on packages in any order, crashed anywhere, against the model in `package_model.py`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.unit.package.crash_points import Crash, CrashPoints, StorageFactory
from tests.unit.package.package_model import (
    FINISHED,
    JOB_FOLDERS,
    PENDING,
    World,
    manifest_of,
    observed,
    storage_of,
)

from penstock.errors import JobNotFound, LoadIsDecided, LoadPackageAborted, LoadPackageAlreadyCompleted
from penstock.package import Packages, ParsedLoadJobFileName, Retention

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from tests.unit.package.package_model import OnePackage

    from penstock.errors import PenstockError
    from penstock.package import TLoadPackageStatus

Fate = tuple[int | None, bool]
"""At which point a call is stopped, if at any, and whether it is then made again."""

fates = st.tuples(st.none() | st.integers(0, 11), st.booleans())
NO_STOP: Fate = (None, False)
TABLES: dict[str, Any] = {"items": {"columns": {"id": {}}}}
# How many points a call has, about: a stop that falls behind the last one is none.
POINTS = {
    "abort": 12,
    "commit": 3,
    "complete_job": 6,
    "complete_loading_package": 5,
    "create": 7,
    "drop": 12,
    "fail_job": 5,
    "roll_forward": 6,
    "seal": 9,
    "tidy": 12,
}
job_names = st.builds(
    "{}.{}.0.reference".format,
    st.sampled_from(("items", "items__tags", "orders")),
    st.sampled_from(("5c1c2f0d11", "a1b2c3d4e5")),
)


class PackageMachine(RuleBasedStateMachine):
    """Random public calls, each of which may crash and be repeated. Subclasses set the storage."""

    place: StorageFactory
    tally: Counter[str]
    """What was tried: sequences, steps, and stops by the name of the rule."""

    def __init__(self) -> None:
        super().__init__()
        self.points = CrashPoints()
        self.root = self.place.new_root()
        self.world = World()
        self.doomed: frozenset[str] = frozenset()
        self.made = 0
        self.tally["sequences"] += 1
        self.packages = self.fresh()

    def fresh(self) -> Packages:
        """All objects of the process are gone."""
        return Packages(self.place.storage(self.root, self.points))

    def teardown(self) -> None:
        self.points.disarm()
        self.place.clean(self.root)

    # --- how a call is made, stopped and looked at

    def step(
        self,
        act: Callable[[], Any],
        *stages: World,
        fate: Fate = NO_STOP,
        refused: type[PenstockError] | None = None,
        answer: Any = ...,
    ) -> None:
        """Make a call. `stages` are the worlds that may be seen on the way, the last of them in the end."""
        name = sys._getframe(1).f_code.co_name
        at = None if fate[0] is None else fate[0] % POINTS.get(name, 3)
        self.tally["steps"] += 1
        self.points.arm(at)
        try:
            self._call(act, refused, answer)
        except Crash:
            self.tally.update(["stops", f"{name} at {at}"])
            seen = self._look()
            assert any(self._allowed(seen, stage) for stage in stages), (seen, stages)
            if fate[1] or seen not in stages:
                self._call(act, refused or LoadPackageAlreadyCompleted, ...)
                seen = self._look()
                assert self._tidied(seen) == self._tidied(stages[-1]), (seen, stages[-1])
        else:
            seen = self._look()
            assert seen == stages[-1], (seen, stages[-1])
        self._compare(seen)
        self.world = seen

    def _call(self, act: Callable[[], Any], refused: type[PenstockError] | None, answer: Any) -> None:
        expected: tuple[type[PenstockError], ...] = (refused,) if refused else ()
        try:
            given = act()
        except expected:
            return
        assert refused in {None, LoadPackageAlreadyCompleted}, f"no {refused}"
        assert answer is ... or given == answer, given

    def _look(self) -> World:
        self.points.disarm()
        self.packages = self.fresh()
        return observed(self.packages)

    def _tidied(self, world: World) -> World:
        """Without the data of finished packages that `tidy` has still to look at."""

        def let_go(copy: World) -> None:
            for load_id in self.packages.loaded_packages.list_unrecorded_packages():
                copy.packages[load_id].has_data = False

        return world.after(let_go)

    def _allowed(self, seen: World, stage: World) -> bool:
        """Compare packages; a partly deleted one may be new or finished, so that it is not loaded."""
        if (seen.slots, seen.outcomes) != (stage.slots, stage.outcomes):
            return False
        for load_id in seen.packages.keys() | stage.packages.keys():
            here, there = seen.packages.get(load_id), stage.packages.get(load_id)
            half_deleted = load_id in self.doomed and here is not None and here.status in {"new", *FINISHED}
            if here != there and not half_deleted:
                return False
        return True

    def _compare(self, seen: World) -> None:
        """Check that decisions and statuses never change back, and that pending rows exist."""
        assert seen.slots[: len(self.world.slots)] == self.world.slots
        assert self.world.outcomes.items() <= seen.outcomes.items()
        for load_id, package in seen.packages.items():
            assert package.is_finished or package.has_data
            before = self.world.packages.get(load_id)
            if before is not None:
                assert package.rank >= before.rank
                assert not before.is_finished or package.status == before.status

    # --- which packages and jobs there are

    def having(self, *statuses: str) -> list[str]:
        return sorted(load_id for load_id, one in self.world.packages.items() if one.status in statuses)

    def unsealed(self, *statuses: str) -> list[str]:
        return [load_id for load_id in self.having(*statuses) if load_id not in self.world.slots]

    def jobs_in(self, *states: str) -> list[tuple[str, str]]:
        return sorted(
            (load_id, _file_name(job_id, retries))
            for load_id, one in self.world.packages.items()
            for job_id, (state, retries) in one.jobs.items()
            if state in states
        )

    def changed(self, load_id: str, change: Callable[[OnePackage], object]) -> World:
        return self.world.after(lambda world: change(world.packages[load_id]))

    def moved(self, load_id: str, file_name: str, state: str, *, more: int = 0) -> World:
        name = ParsedLoadJobFileName.parse(file_name)
        place = {name.job_id(): (state, name.retry_count + more)}
        return self.changed(load_id, lambda one: one.jobs.update(place))

    # --- packages with jobs to begin with

    @initialize(
        statuses=st.lists(st.sampled_from(PENDING[1:]), min_size=1, max_size=2),
        names=st.lists(job_names, min_size=1, max_size=4, unique=True),
        is_started=st.booleans(),
        is_sealed=st.booleans(),
    )
    def begin(
        self, statuses: list[TLoadPackageStatus], names: list[str], is_started: bool, is_sealed: bool
    ) -> None:
        for status in statuses:
            self.create(status, NO_STOP)
        first = self.packages.package(min(self.world.packages))
        for name in names:
            first.jobs.add(name, b"{}")
            if is_started:
                first.jobs.start(name)
        if is_sealed and statuses[0] == "normalized":
            assert self.packages.seal(manifest_of(first.load_id, 1))
        self.world = observed(self.packages)

    # --- calls that make packages and jobs

    @precondition(lambda self: len(self.world.packages) < 4)
    @rule(status=st.sampled_from(PENDING), fate=fates)
    def create(self, status: TLoadPackageStatus, fate: Fate) -> None:
        self.made += 1
        load_id = f"17.{self.made:03d}"
        self.packages.package(load_id).store.put("data/raw/part", b"rows")
        self.world = observed(self.packages)
        stages = [
            self.changed(load_id, lambda one, further=further: setattr(one, "status", further))  # type: ignore[misc]
            for further in PENDING[: PENDING.index(status) + 1]
        ]
        self.step(lambda: storage_of(self.packages, status).create_package(load_id), *stages, fate=fate)

    @precondition(lambda self: self.having("new", "extracted"))
    @rule(data=st.data(), job=job_names, by_import=st.booleans(), fate=fates)
    def add_job(self, data: st.DataObject, job: str, by_import: bool, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having("new", "extracted")))
        job_id = ParsedLoadJobFileName.parse(job).job_id()
        after = self.changed(load_id, lambda one: one.jobs.setdefault(job_id, ("new_jobs", 0)))
        outside = self.packages.store.subfolder("outside")
        outside.put(job, b"{}")

        def act() -> None:
            if by_import:
                self.packages.normalized_packages.import_job(load_id, outside.path(job))
            else:
                self.packages.package(load_id).jobs.add(job, b"{}")

        self.step(act, self.world, after, fate=fate)
        if by_import and not outside.exists(job):
            assert job_id in self.world.packages[load_id].jobs, "the job is neither here nor there"

    # --- calls that move jobs

    @precondition(lambda self: self.jobs_in("new_jobs"))
    @rule(data=st.data(), fate=fates)
    def start_job(self, data: st.DataObject, fate: Fate) -> None:
        load_id, name = data.draw(st.sampled_from(self.jobs_in("new_jobs")))
        path = f"{self.packages.package(load_id).path}/started_jobs/{name}"
        self.step(
            lambda: self.packages.normalized_packages.start_job(load_id, name),
            self.world,
            self.moved(load_id, name, "started_jobs"),
            fate=fate,
            answer=path,
        )

    @precondition(lambda self: self.jobs_in("started_jobs"))
    @rule(data=st.data(), fate=fates)
    def complete_job(self, data: st.DataObject, fate: Fate) -> None:
        load_id, name = data.draw(st.sampled_from(self.jobs_in("started_jobs")))
        self.step(
            lambda: self.packages.normalized_packages.complete_job(load_id, name, {"rows": 7}),
            self.world,
            self.moved(load_id, name, "completed_jobs"),
            fate=fate,
        )
        done = {
            job for job, (state, _) in self.world.packages[load_id].jobs.items() if state == "completed_jobs"
        }
        assert self.packages.normalized_packages.completed_results(load_id).keys() == done

    @precondition(lambda self: self.jobs_in("started_jobs"))
    @rule(data=st.data(), fate=fates)
    def retry_job(self, data: st.DataObject, fate: Fate) -> None:
        load_id, name = data.draw(st.sampled_from(self.jobs_in("started_jobs")))
        self.step(
            lambda: self.packages.normalized_packages.retry_job(load_id, name, "timed out"),
            self.world,
            self.moved(load_id, name, "new_jobs", more=1),
            fate=fate,
            answer=ParsedLoadJobFileName.parse(name).with_retry().file_name(),
        )

    @precondition(lambda self: self.jobs_in("started_jobs"))
    @rule(data=st.data(), fate=fates)
    def fail_job(self, data: st.DataObject, fate: Fate) -> None:
        load_id, name = data.draw(st.sampled_from(self.jobs_in("started_jobs")))
        after = self.moved(load_id, name, "failed_jobs")
        self.step(
            lambda: self.packages.normalized_packages.fail_job(load_id, name, "no such column"),
            self.world,
            after,
            fate=fate,
        )
        if self.world == after:
            message = self.packages.normalized_packages.get_job_failed_message(
                load_id, ParsedLoadJobFileName.parse(name)
            )
            assert message == "no such column"

    @precondition(lambda self: self.jobs_in("failed_jobs"))
    @rule(data=st.data(), fate=fates)
    def retry_failed_job(self, data: st.DataObject, fate: Fate) -> None:
        load_id, name = data.draw(st.sampled_from(self.jobs_in("failed_jobs")))
        self.step(
            lambda: self.packages.normalized_packages.retry_failed_job(load_id, name),
            self.world,
            self.moved(load_id, name, "new_jobs", more=1),
            fate=fate,
        )

    @precondition(lambda self: self.jobs_in("completed_jobs", "failed_jobs", "new_jobs"))
    @rule(data=st.data())
    def a_move_from_the_wrong_state_changes_nothing(self, data: st.DataObject) -> None:
        states = ("completed_jobs", "failed_jobs", "new_jobs")
        load_id, name = data.draw(st.sampled_from(self.jobs_in(*states)))
        self.packages.package(load_id).jobs.repair()
        self.step(
            lambda: self.packages.normalized_packages.retry_job(load_id, name, "late"),
            self.world,
            refused=JobNotFound,
        )

    @precondition(lambda self: self.world.packages)
    @rule(data=st.data(), fate=fates)
    def repair(self, data: st.DataObject, fate: Fate) -> None:
        """One file for each job is left, in the state that counted before."""
        load_id = data.draw(st.sampled_from(sorted(self.world.packages)))
        self.step(self.packages.package(load_id).jobs.repair, self.world, fate=(fate[0], True))
        self.packages.package(load_id).jobs.repair()
        names = [
            name for folder in JOB_FOLDERS for name in self.packages.package(load_id).store.names(folder)
        ]
        files = [name for name in names if not name.endswith(".exception")]
        assert len(files) == len(self.world.packages[load_id].jobs)

    @precondition(lambda self: self.having("normalized", *FINISHED))
    @rule(data=st.data(), fate=fates)
    def remove_completed_jobs(self, data: st.DataObject, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having("normalized", *FINISHED)))
        before, stages = self.world.packages[load_id], [self.world]
        done = sorted(job for job, (state, _) in before.jobs.items() if state == "completed_jobs")
        # They go in any order; in the end all are gone.
        for chosen in range(0 if before.has_failed else 1 << len(done)):
            gone = [job for at, job in enumerate(done) if chosen & (1 << at)]
            stages.append(self.changed(load_id, lambda one, gone=gone: [one.jobs.pop(job) for job in gone]))  # type: ignore[misc]
        self.step(
            lambda: self.packages.normalized_packages.remove_completed_jobs(load_id),
            *stages,
            fate=(fate[0], True),
        )

    # --- calls that bring a package further

    @precondition(lambda self: self.having(*PENDING))
    @rule(data=st.data(), fate=fates)
    def mark(self, data: st.DataObject, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having(*PENDING)))
        package = self.packages.package(load_id)
        is_new = self.world.packages[load_id].status == "new"
        further = "extracted" if is_new else "normalized"
        act = partial(package.mark_extracted if is_new else package.mark_normalized, {})
        after = self.changed(load_id, lambda one: setattr(one, "status", further))
        self.step(act, self.world, after, fate=fate)

    @precondition(lambda self: self.having("normalized"))
    @rule(data=st.data(), fate=fates)
    def seal(self, data: st.DataObject, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having("normalized")))
        manifest = manifest_of(load_id, len(self.world.slots) + 1)
        may = load_id not in self.world.slots and not self.world.is_open()
        settling = self._settling()  # what was aborted and is not finished is finished on the way
        sealed = [settling[-1].after(lambda world: world.slots.append(load_id))] if may else []
        act = lambda: self.packages.seal(manifest)  # noqa: E731
        self.step(act, self.world, *settling, *sealed, fate=fate, answer=may)

    @precondition(lambda self: self.world.slots and self.unsealed("normalized"))
    @rule(data=st.data())
    def a_late_seal_takes_no_number(self, data: st.DataObject) -> None:
        load_id = data.draw(st.sampled_from(self.unsealed("normalized")))
        manifest = manifest_of(load_id, data.draw(st.integers(1, len(self.world.slots))))
        self.step(lambda: self.packages.seal(manifest), self.world, answer=False)

    @precondition(lambda self: self.world.slots)
    @rule(fate=fates)
    def commit(self, fate: Fate) -> None:
        sequence = len(self.world.slots)
        manifest = manifest_of(self.world.slots[-1], sequence)
        after = self.world.after(lambda world: world.outcomes.setdefault(sequence, "commit"))
        refused = LoadPackageAborted if self.world.last_outcome() == "abort" else None
        self.step(lambda: self.packages.commit(manifest), self.world, after, fate=fate, refused=refused)

    @precondition(
        lambda self: self.world.slots and self.world.slots[-1] in self.having("normalized", "aborted")
    )
    @rule(fate=fates)
    def abort(self, fate: Fate) -> None:
        manifest = manifest_of(self.world.slots[-1], len(self.world.slots))
        self._give_up(lambda: self.packages.abort(manifest), manifest.load_id, fate)

    @precondition(lambda self: self.having(*PENDING))
    @rule(data=st.data(), fate=fates)
    def drop(self, data: st.DataObject, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having(*PENDING)))
        act = lambda: self.packages.drop(load_id)  # noqa: E731
        if load_id in self.world.slots:
            self._give_up(act, load_id, fate)
            return
        self.doomed = frozenset((load_id,))
        self.step(act, self.world, self.world.after(lambda world: world.packages.pop(load_id)), fate=fate)
        self.doomed = frozenset()

    def _give_up(self, act: Callable[[], Any], load_id: str, fate: Fate) -> None:
        sequence = self.world.slots.index(load_id) + 1
        if self.world.outcomes.get(sequence) == "commit":
            self.step(act, self.world, fate=fate, refused=LoadIsDecided)
            return
        decided = self.world.after(lambda world: world.outcomes.setdefault(sequence, "abort"))
        self.step(act, self.world, decided, *decided.ended(load_id, "aborted"), fate=fate)

    @precondition(lambda self: self.world.is_open() and self.world.last_outcome() == "commit")
    @rule(fate=fates)
    def finish(self, fate: Fate) -> None:
        load_id = self.world.slots[-1]
        stages = self.world.ended(load_id, "loaded")
        self.step(lambda: self.packages.finish(load_id), self.world, *stages, fate=fate)

    @precondition(lambda self: self.unsealed("normalized", *FINISHED))
    @rule(data=st.data(), ended=st.sampled_from(FINISHED), fate=fates)
    def complete_loading_package(self, data: st.DataObject, ended: TLoadPackageStatus, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.unsealed("normalized", *FINISHED)))
        act = lambda: self.packages.normalized_packages.complete_loading_package(load_id, ended)  # noqa: E731
        if self.world.packages[load_id].is_finished:
            self.step(act, self.world, fate=fate, refused=LoadPackageAlreadyCompleted)
        else:
            after = self.changed(load_id, lambda one: setattr(one, "status", ended))
            self.step(act, self.world, after, fate=fate)

    @precondition(lambda self: self.world.slots)
    @rule(fate=fates)
    def roll_forward(self, fate: Fate) -> None:
        expected = self.world.slots[-1] if self.world.is_open() else None

        def act() -> str | None:
            manifest = self.packages.pending_load()
            return manifest.load_id if manifest else None

        self.step(act, self.world, *self._settling(), fate=(fate[0], True), answer=expected)

    def _settling(self) -> list[World]:
        settled = self.world.settled()
        return (
            [settled]
            if settled == self.world
            else [*self.world.ended(self.world.slots[-1], "aborted"), settled]
        )

    @precondition(lambda self: self.having(*FINISHED))
    @rule(kept=st.integers(0, 3), keeps_data=st.booleans(), fate=fates)
    def tidy(self, kept: int, keeps_data: bool, fate: Fate) -> None:
        """The oldest finished ones go, but for the last sealed one and those with failed jobs."""
        finished = self.having(*FINISHED)
        safe = {load_id for load_id in finished if self.world.packages[load_id].has_failed}
        gone = set(finished[: max(0, len(finished) - kept)]) - safe - set(self.world.slots[-1:])
        late = set(self.packages.loaded_packages.list_unrecorded_packages()) - safe

        def change(world: World) -> None:
            for load_id in late if not keeps_data else ():
                world.packages[load_id].has_data = False
            for load_id in gone:
                del world.packages[load_id]

        self.doomed = frozenset(finished)
        act = lambda: self.packages.apply_retention(Retention(data=keeps_data, packages=kept))  # noqa: E731
        self.step(act, self.world, self.world.after(change), fate=(fate[0], True))
        self.doomed = frozenset()

    # --- calls that keep something in a package

    @precondition(lambda self: self.having("extracted", "normalized"))
    @rule(data=st.data(), fate=fates)
    def save_schema_updates(self, data: st.DataObject, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having("extracted", "normalized")))
        after = self.changed(load_id, lambda one: setattr(one, "updates", None if one.applied else TABLES))
        act = lambda: self.packages.normalized_packages.save_schema_updates(load_id, TABLES)  # noqa: E731
        self.step(act, self.world, after, fate=fate)

    @precondition(lambda self: self.having("normalized"))
    @rule(data=st.data(), fate=fates)
    def commit_schema_updates(self, data: st.DataObject, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having("normalized")))

        def change(one: OnePackage) -> None:
            one.updates, one.applied = None, TABLES

        act = lambda: self.packages.package(load_id).commit_schema_updates(TABLES)  # noqa: E731
        self.step(act, self.world, self.changed(load_id, change), fate=fate)

    @precondition(lambda self: self.having(*PENDING))
    @rule(data=st.data(), value=st.integers(1, 99), fate=fates)
    def save_state(self, data: st.DataObject, value: int, fate: Fate) -> None:
        load_id = data.draw(st.sampled_from(self.having(*PENDING)))
        state = self.packages.normalized_packages.get_load_package_state(load_id)
        state["destination_state"] = {"counter": value}
        after = self.changed(load_id, lambda one: setattr(one, "counter", value))
        act = lambda: self.packages.normalized_packages.save_load_package_state(load_id, state)  # noqa: E731
        self.step(act, self.world, after, fate=fate)


def _file_name(job_id: str, retries: int) -> str:
    table, file_id, extension = job_id.split(".")
    return f"{table}.{file_id}.{retries}.{extension}"
