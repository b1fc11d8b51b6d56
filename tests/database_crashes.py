"""A load into a database, killed by a signal before each of its durable steps, and the load that follows.

Processes are copies of one that has imported everything, so that a kill and a recovery take a second. Steps
are changes of files, which Python announces, and the statements that a database announces.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from tests.flow.crashes import plain_files_shop, shop
from tests.flow.crashes.steps import Step, Steps, recording_steps

import penstock
from penstock.errors import PenstockError
from penstock.pipeline.state import decode_state
from penstock.testing import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from multiprocessing.context import ForkServerContext
    from pathlib import Path

    from penstock.interfaces import Destination

NAME: Final = "shop"
BATCHES: Final[dict[str, list[list[dict[str, Any]]]]] = {
    **shop.BATCHES,
    "stock": [*plain_files_shop.BATCHES["stock"], [{"id": 5}]],
}
DISPOSITIONS: Final[dict[str, dict[str, Any]]] = {
    **shop.DISPOSITIONS,
    "stock": {"write_disposition": "replace"},
}
TABLES: Final = (*BATCHES, *shop.NESTED, "stock__parts", "stock__tags")
_COLUMNS: Final = re.compile(r"\([^)]*\)?")
_PRELOADED: Final = ("penstock", "tests", "sqlglot", "psycopg", "duckdb", "pyarrow")
_HISTORY: Final = ("customers", "prices")
"""Root tables whose row ids come from the rows alone."""

Content = dict[str, list[dict[str, Any]]]


class CrashDatabase(Protocol):
    """A database for one dataset; it is pickled for other processes."""

    def destination(self) -> Destination:
        """Return the destination."""

    def keep(self) -> None:
        """Copy the database, as what `restore` restores."""

    def restore(self) -> None:
        """Replace the database by the copy."""

    def tables(self) -> Content:
        """Return all rows of all tables of the dataset."""

    def leftovers(self) -> list[str]:
        """Return the names of what a complete load must not leave."""

    def observed(self, steps: Steps) -> AbstractContextManager[None]:
        """Make each statement of this process a step."""


@dataclass(frozen=True)
class CrashTrials:
    """The same load again and again, each time from the same database and the same folder."""

    database: CrashDatabase
    folder: Path

    @property
    def _context(self) -> ForkServerContext:
        return multiprocessing.get_context("forkserver")

    @property
    def disk(self) -> Path:
        """The folder of the machine that loads."""
        return self.folder / "disk"

    def begin(self) -> dict[int, Any]:
        """Load the first batch, and keep database and folder; return the content after each batch."""
        expected: dict[int, Any] = {}
        for upto in (1, 2, 3):
            imported = self._succeed(_load_with_imports, upto, is_first=upto == 1)
            if upto == 1:
                # What a load imports is imported once, for all later processes.
                self._context.set_forkserver_preload(json.loads(imported))
            expected[upto] = comparable(self.database.tables())
            if upto == 1:
                self.database.keep()
                shutil.copytree(self.disk, self.folder / "kept")
        return expected

    def restore(self) -> None:
        """Return to the content after the first batch."""
        shutil.rmtree(self.disk, ignore_errors=True)
        shutil.copytree(self.folder / "kept", self.disk)
        self.database.restore()

    def steps(self) -> tuple[Step, ...]:
        """Load the second batch, and return its steps."""
        self.restore()
        names = json.loads(self._succeed(_load_in_steps, None))
        return tuple(Step(number, name) for number, name in enumerate(names))

    def problems(self, step: Step, expected: Mapping[int, Any], *, wiped: bool) -> list[str]:
        """Kill a load before a step, run again, and return all differences from a load without the kill."""
        self.restore()
        code, text = self._run(_load_in_steps, step.number)
        if code != -signal.SIGKILL:
            return [f"the process was not killed: exit code {code}, {text}"]
        if wiped:
            shutil.rmtree(self.disk)
        upto = 3 if wiped and loads_of(self.database.tables()) == 2 else 2
        code, text = self._run(_recover, upto)
        if code:
            return [f"the next run fails: {text}"]
        content = comparable(self.database.tables())
        return [
            *differences(content, expected[upto]),
            *(f"{name} is left" for name in self.database.leftovers()),
        ]

    def _succeed(self, work: Callable[..., str], argument: int | None, *, is_first: bool = False) -> str:
        code, text = self._run(work, argument, is_first=is_first)
        if code:
            raise AssertionError(text)
        return text

    def _run(
        self, work: Callable[..., str], argument: int | None, *, is_first: bool = False
    ) -> tuple[int | None, str]:
        """Run a function in a process of its own; return the exit code and its text."""
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        context = multiprocessing.get_context("spawn") if is_first else self._context
        process = context.Process(target=_answer, args=(work, self, argument, answer))
        process.start()
        process.join()
        code = process.exitcode
        process.close()
        return code, answer.read_text(encoding="utf-8") if answer.exists() else ""

    def pipeline(self) -> penstock.Pipeline:
        return penstock.pipeline(
            NAME,
            destination=self.database.destination(),
            dataset_name=NAME,
            pipelines_dir=self.disk,
        )


def of_each_kind(steps: Sequence[Step]) -> list[Step]:
    """Return the first step of each kind; rows of all tables are staged by steps of the same kinds."""
    return list({_COLUMNS.sub("(...)", step.kind): step for step in reversed(steps)}.values())[::-1]


def chosen_steps(steps: Sequence[Step], few: int, *, seed: object, requested: str = "") -> list[Step]:
    """Return a few steps in random order, or with `all`, `kinds` or `kinds:2/5` as many as requested."""
    words, _, share = requested.partition(":")
    points = of_each_kind(steps) if words == "kinds" else list(steps)
    part, _, parts = (share or "1/1").partition("/")
    shuffled = random.Random(f"{seed}").sample(points, len(points))
    return shuffled[int(part) - 1 :: int(parts)] if requested else shuffled[:few]


def resources(upto: int) -> list[Any]:
    """Return resources that yield every batch once, by their state."""

    def rows(name: str) -> Iterator[dict[str, Any]]:
        state = penstock.current.resource_state()
        for batch in BATCHES[name][state.get("done", 0) : upto]:
            yield from batch
        state["done"] = upto

    return [penstock.resource(rows, name=name, **DISPOSITIONS[name])(name) for name in BATCHES]


def loads_of(tables: Content) -> int:
    return len(tables["_dlt_loads"])


def comparable(tables: Content) -> dict[str, Any]:
    """Return everything that two loads of the same rows have in common."""
    loads = sorted(tables["_dlt_loads"], key=lambda row: row["sequence"])
    numbers = {row["load_id"]: f"load {number}" for number, row in enumerate(loads, 1)}
    data = {name: [_with_numbers(row, numbers) for row in tables.get(name, [])] for name in TABLES}
    roots = {name: name.partition("__")[0] for name in TABLES}
    return {
        "tables": sorted(tables),
        "loads": [_without(row, "load_id", "inserted_at", "manifest_hash") for row in loads],
        "schemas": [
            _without(row, "inserted_at", "schema")
            for row in sorted(tables["_dlt_version"], key=lambda row: row["version"])
        ],
        "states": [
            (numbers.get(row["_dlt_load_id"]), decode_state(row["state"])["sources"])
            for row in sorted(tables["_dlt_pipeline_state"], key=lambda row: row["version"])
        ],
        **{
            root: documents({name: rows for name, rows in data.items() if roots[name] == root}, root)
            for root in BATCHES
        },
        **{f"loads of {root}": sorted(row["_dlt_load_id"] for row in data[root]) for root in BATCHES},
        **{f"unique ids of {name}": len({row["_dlt_id"] for row in rows}) for name, rows in data.items()},
        **{f"ids of {root}": sorted(row["_dlt_id"] for row in data[root]) for root in _HISTORY},
    }


def differences(content: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    names = [name for name in expected if content.get(name) != expected[name]]
    return [f"{name}: {content.get(name)} instead of {expected[name]}" for name in names]


def _with_numbers(row: dict[str, Any], numbers: Mapping[str, str]) -> dict[str, Any]:
    moments = {datetime.fromtimestamp(float(load), UTC): number for load, number in numbers.items()}
    history = {
        name: moments.get(value, value) for name, value in row.items() if name.startswith("_dlt_valid")
    }
    load = row.get("_dlt_load_id")
    return {**row, **history, **({} if load is None else {"_dlt_load_id": numbers.get(load, "unknown")})}


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


# --- in other processes


def _answer(work: Callable[..., str], trials: CrashTrials, argument: int | None, answer: Path) -> None:
    os.environ["LOAD__WORKERS"] = "1"  # for a stable order of steps
    try:
        answer.write_text(work(trials, argument), encoding="utf-8")
    except PenstockError as error:
        answer.write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        raise SystemExit(1) from error


def _load(trials: CrashTrials, upto: int) -> None:
    trials.pipeline().run(resources(upto))


def _load_with_imports(trials: CrashTrials, upto: int) -> str:
    """Load, and return the names of the modules that it has imported."""
    _load(trials, upto)
    return json.dumps([name for name in sys.modules if name.partition(".")[0] in _PRELOADED])


def _load_in_steps(trials: CrashTrials, at: int | None) -> str:
    """Load the second batch; be killed before a step, if it is given. Return the steps."""

    def die(step: Step) -> None:
        if step.number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    steps = Steps(trials.disk, die)
    with trials.database.observed(steps), recording_steps(steps):
        _load(trials, 2)
        steps.reach("the end")
    return json.dumps([step.what for step in steps.seen])


def _recover(trials: CrashTrials, upto: int) -> str:
    """Finish what is pending, and load what is not in the database."""
    trials.pipeline().run()
    if loads_of(trials.database.tables()) < upto:
        _load(trials, upto)
    return ""
