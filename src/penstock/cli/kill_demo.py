"""The example of `penstock demo --kill`: daily loads of a shop that are killed, and the check of all rows."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from string import Template
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.cli import program_steps
from penstock.cli.demo import PIPELINE_NAME, prepare_folder, without_system_columns
from penstock.cli.program_steps import DurableStep, RunStage
from penstock.destinations import delta
from penstock.errors import InternalError
from penstock.package import Packages
from penstock.pipeline.factory import pipeline as create_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from penstock.package import TLoadPackageStatus
    from penstock.pipeline.pipeline import Pipeline

InterruptedStatus = Literal["none", "incomplete", "extracted", "normalized", "sealed", "loaded"]
"""The status of a package that a killed run left; `loaded` if the load is complete in the ledger."""
ORDERS, ITEMS = TABLES = ("orders", "orders__items")
KILLS: Final = 5
STAGES: Final[tuple[RunStage, ...]] = ("extract", "normalize", "load")
ORDERS_PER_DAY: Final = 100
_INTERRUPTED_STATUSES: Final[dict[TLoadPackageStatus, InterruptedStatus]] = {
    "normalized": "normalized",
    "extracted": "extracted",
    "new": "incomplete",
}
_UNDISTURBED_DAYS: Final = 2
"""The first day creates the tables, so the steps of the second one are those of all later days."""
_SHOWN_ERROR_LENGTH: Final = 2_000

_PROGRAM: Final = Template("""\
import json
from pathlib import Path
import penstock

folder = Path($folder)
lake = penstock.destinations.delta(bucket_url=str(folder / "lake"))

@penstock.resource
def orders(number=penstock.sources.incremental("number")):
    for file in sorted((folder / "data").glob("*.jsonl")):
        yield from map(json.loads, file.read_text().splitlines())

pipeline = penstock.pipeline("$pipeline_name", folder / "pipelines", destination=lake)
print(pipeline.run(orders()))
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowComparison:
    """The rows that readers see in a table, compared with the rows in the files."""

    table: str
    expected: int
    loaded: int
    missing: int
    unexpected: int
    """Rows that no file has, or more of them than the files have."""

    @property
    def is_exact(self) -> bool:
        """Whether each row was loaded exactly once."""
        return not self.missing and not self.unexpected


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """A run of the program in a process."""

    process_id: int
    seconds: float
    steps: tuple[DurableStep, ...]
    was_killed: bool
    """Whether the process was killed, right before the last of the steps; False if it ended before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptedPackage:
    """The package of a killed run, as the next run finds it."""

    status: InterruptedStatus
    load_id: str | None = None
    jobs: int = 0
    completed_jobs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledLoad:
    """A load that was killed, and the run after it."""

    day: int
    step: DurableStep
    killed_run: ProgramRun
    visible_days: int | None
    """The days whose rows readers saw before the next run; None if they saw a part of a day."""
    package: InterruptedPackage
    next_run: ProgramRun
    resumed_steps: tuple[str, ...]
    """The steps in which the next run had work."""
    rows: tuple[RowComparison, ...]
    """The rows after the next run."""

    @property
    def is_correct(self) -> bool:
        """Whether readers saw all of the killed load or nothing, and each row once after the next run."""
        return self.visible_days in {self.day - 1, self.day} and all(check.is_exact for check in self.rows)


@dataclass(slots=True)
class KillDemo:
    """The example in its folder: a program that loads the orders of all days, and a new file for each day."""

    folder: Path
    seed: int
    days: int = 0
    measured_steps: tuple[DurableStep, ...] = ()
    """The steps of an undisturbed load."""
    missed: int = 0
    """Runs that ended before the step at which they should be killed; they do not count."""
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)  # noqa: S311 - chooses the moments of the kills

    @property
    def program(self) -> str:
        """The Python program that is killed and resumed."""
        return _PROGRAM.substitute(folder=json.dumps(str(self.folder)), pipeline_name=PIPELINE_NAME)

    @property
    def program_file(self) -> Path:
        """The file with the program."""
        return self.folder / f"{PIPELINE_NAME}.py"

    @property
    def packages_folder(self) -> Path:
        """The folder with the packages of the pipeline."""
        return self.folder / "lake" / PIPELINE_NAME / "_dlt_pkg" / PIPELINE_NAME

    def write_program(self) -> None:
        """Write the program into the folder; raise if the folder has files already."""
        prepare_folder(self.folder)
        self.program_file.write_text(self.program, encoding="utf-8")

    def load_undisturbed(self) -> ProgramRun:
        """Load the first days, and record the steps."""
        for _ in range(_UNDISTURBED_DAYS):
            self._add_day()
            run = self._run_program()
        self.measured_steps = run.steps
        return run

    def choose_steps(self, kills: int) -> list[DurableStep]:
        """Choose random steps of the undisturbed load: one in each stage, the others in any."""
        steps = [self._choose_step(stage) for stage in STAGES[:kills]]
        steps += self._chance.choices(self.measured_steps, k=kills - len(steps))
        self._chance.shuffle(steps)
        return steps

    def kill_loads_at(self, steps: Sequence[DurableStep]) -> Iterator[KilledLoad]:
        """Kill a load at each step, and run the program again after each kill.

        A load that ends before its step is not killed and does not count; the next day replaces it.
        """
        for step in steps:
            killed_load = self._kill_load(step)
            while killed_load is None:
                self.missed += 1
                if self.missed > len(steps):
                    raise InternalError(
                        f"{self.missed} runs ended before they could be killed",
                        hint="run the demo again, in another folder and with another seed",
                    )
                killed_load = self._kill_load(self._choose_step(step.stage))
            yield killed_load

    def check_rows(self) -> tuple[RowComparison, ...]:
        """Compare the rows that readers see with the rows in the files, value by value."""
        loaded = self._visible_rows()
        return tuple(
            RowComparison(
                table=table,
                expected=expected.total(),
                loaded=loaded[table].total(),
                missing=(expected - loaded[table]).total(),
                unexpected=(loaded[table] - expected).total(),
            )
            for table, expected in self._expected_rows(self.days).items()
        )

    def _kill_load(self, step: DurableStep) -> KilledLoad | None:
        """Kill the load of a new day and run the program again; return None if the load ended before."""
        self._add_day()
        killed_run = self._run_program(stop_at=step)
        if not killed_run.was_killed:
            return None
        visible, package = self._visible_rows(), self._interrupted_package()
        next_run = self._run_program()
        trace = self._pipeline().last_trace
        return KilledLoad(
            day=self.days,
            step=killed_run.steps[-1],
            killed_run=killed_run,
            visible_days=next(
                (day for day in (self.days, self.days - 1) if self._expected_rows(day) == visible), None
            ),
            package=package,
            next_run=next_run,
            resumed_steps=tuple(step.step for step in (trace.steps if trace else ()) if step.info.loads_ids),
            rows=self.check_rows(),
        )

    def _choose_step(self, stage: RunStage) -> DurableStep:
        return self._chance.choice([step for step in self.measured_steps if step.stage == stage])

    def _add_day(self) -> None:
        self.days += 1
        file = self.folder / "data" / f"day_{self.days:02}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in orders_of(self.days)), encoding="utf-8")

    def _run_program(self, stop_at: DurableStep | None = None) -> ProgramRun:
        """Run the program in a process; kill it when it is about to make a step."""
        reader, writer = os.pipe()
        words = [] if stop_at is None else [stop_at.stage, str(stop_at.number)]
        command = [sys.executable, "-P", program_steps.__file__]
        command += [str(self.program_file), str(self.folder), str(writer), *words]
        start, steps, was_killed = time.monotonic(), list[DurableStep](), False
        with (
            (self.folder / "output.txt").open("w", encoding="utf-8") as output,
            subprocess.Popen(  # noqa: S603 - the program that this demo has written
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, pass_fds=[writer]
            ) as process,
            os.fdopen(reader, encoding="utf-8") as announced,
        ):
            os.close(writer)
            for line in announced:
                steps.append(DurableStep(**json.loads(line)))
                last = steps[-1]
                if stop_at is not None and (last.stage, last.number) == (stop_at.stage, stop_at.number):
                    process.kill()
                    was_killed = process.wait() == -signal.SIGKILL
                    break
        if process.returncode and not was_killed:
            text = (self.folder / "output.txt").read_text(encoding="utf-8")
            raise InternalError(
                f"the program of the demo failed: {text[-_SHOWN_ERROR_LENGTH:].strip()}",
                hint=f"run it alone: python {self.program_file}",
            )
        return ProgramRun(
            process_id=process.pid,
            seconds=time.monotonic() - start,
            steps=tuple(steps),
            was_killed=was_killed,
        )

    def _interrupted_package(self) -> InterruptedPackage:
        packages = Packages.at(str(self.packages_folder))
        load_ids = self._pipeline().dataset().load_ids()
        if len(load_ids) == self.days:
            return InterruptedPackage(status="loaded", load_id=load_ids[-1])
        for status in _INTERRUPTED_STATUSES:
            for package in packages.with_status(status):
                info = packages.normalized_packages.get_load_package_info(package.load_id)
                is_sealed = packages.find_manifest(package.load_id) is not None
                return InterruptedPackage(
                    status="sealed" if is_sealed else _INTERRUPTED_STATUSES[status],
                    load_id=package.load_id,
                    jobs=sum(map(len, info.jobs.values())),
                    completed_jobs=len(info.jobs["completed_jobs"]),
                )
        return InterruptedPackage(status="none")

    def _visible_rows(self) -> dict[str, Counter[str]]:
        dataset = self._pipeline().dataset()
        return {table: _count_rows(dataset[table].arrow().to_pylist()) for table in TABLES}

    def _expected_rows(self, days: int) -> dict[str, Counter[str]]:
        orders = [order for day in range(1, days + 1) for order in orders_of(day)]
        items = [item for order in orders for item in order["items"]]
        return {
            ORDERS: _count_rows([{k: v for k, v in order.items() if k != "items"} for order in orders]),
            ITEMS: _count_rows(items),
        }

    def _pipeline(self) -> Pipeline:
        """Return a new pipeline, which has read nothing yet."""
        return create_pipeline(
            PIPELINE_NAME,
            self.folder / "pipelines",
            destination=delta(bucket_url=str(self.folder / "lake")),
            progress="none",
        )


def random_seed() -> int:
    """Return a new seed, which is short enough to be typed."""
    return random.SystemRandom().randrange(10_000)


def orders_of(day: int) -> list[dict[str, Any]]:
    """Return the orders of a day: each has a number, and two items.

    >>> orders_of(1)[0]
    {'number': 1001, 'items': [{'order': 1001, 'sku': 'tea'}, {'order': 1001, 'sku': 'mug'}]}
    """
    numbers = range(1000 * day + 1, 1000 * day + ORDERS_PER_DAY + 1)
    return [
        {
            "number": number,
            "items": [{"order": number, "sku": sku} for sku in ("tea", "mug")],
        }
        for number in numbers
    ]


def _count_rows(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """Count equal rows, without system columns."""
    return Counter(json.dumps(without_system_columns(row), sort_keys=True) for row in rows)
