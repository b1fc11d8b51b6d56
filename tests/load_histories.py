"""Generated histories of loads, plans, applications, undos and replays, beside a model in plain Python.

The model knows what each operation does to the rows and to the state. After each operation another machine
reads the tables, and must see the rows of the model, whatever died in the middle of the operation.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.flow.crashes.shop import NAME, expire_lease
from tests.flow.crashes.steps import Steps, recording_steps
from tests.plan_figures import differences
from tests.step_failures import step_raises

import penstock
from penstock.errors import PlanOutdated, UndoRefused
from penstock.testing.cases import Crash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.flow.crashes.steps import Step
    from tests.plan_figures import Rows

    from penstock.load.report import LoadInfo
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.plan import LoadPlan

Document = tuple[int, int | None, tuple[int, ...]]
"""A row: its id, its value in a column that few rows have, and its nested rows."""
DISPOSITIONS: Final = {"events": "append", "stock": "replace", "orders": "merge", "reviews": "append"}
_CONTRACTS: Final[Mapping[str, Any]] = {"reviews": {"columns": "discard_row"}}
"""The table of which rows with a new column are quarantined."""
_IDS: Final = {
    **dict.fromkeys(("events", "orders", "reviews"), range(1, 8)),
    "stock": range(1, 100_000),
}
"""No two loads replace a table by the same rows: whether one took effect could not be seen."""
_MOST_PLANS: Final = 3
_MOST_UNDONE: Final = 3


@dataclass(frozen=True)
class Content:
    """The rows of all tables, and the number of loads in the state of each resource."""

    events: tuple[Document, ...] = ()
    stock: tuple[Document, ...] = ()
    orders: tuple[Document, ...] = ()
    reviews: tuple[Document, ...] = ()
    quarantine: tuple[Document, ...] = ()
    """The rows of reviews that were refused."""
    loads: tuple[tuple[str, int], ...] = ()

    def after_replay(self) -> Content:
        """Return the content once all quarantined rows are accepted."""
        return replace(self, reviews=_in_order((*self.reviews, *self.quarantine)), quarantine=())


@dataclass(frozen=True)
class Batch:
    """The rows of one load, by table."""

    rows: Mapping[str, tuple[Document, ...]]

    def after(self, content: Content) -> Content:
        """Return the content after a load of the batch."""
        counts = dict(content.loads)
        changes: dict[str, tuple[Document, ...]] = {}
        for name, rows in self.rows.items():
            # The state of a resource that replaces its table begins anew.
            counts[name] = 1 if DISPOSITIONS[name] == "replace" else counts.get(name, 0) + 1
            old = getattr(content, name)
            match DISPOSITIONS[name]:
                case "append" if name in _CONTRACTS and old and all(row[1] is None for row in old):
                    # The table exists, and its column does not.
                    changes[name] = (*old, *(row for row in rows if row[1] is None))
                    changes["quarantine"] = (
                        *content.quarantine,
                        *(row for row in rows if row[1] is not None),
                    )
                case "append":
                    changes[name] = (*old, *rows)
                case "replace":
                    changes[name] = rows
                case _:
                    changes[name] = tuple({row[0]: row for row in (*old, *rows)}.values())
        ordered = {name: _in_order(rows) for name, rows in changes.items()}
        return replace(content, **ordered, loads=tuple(sorted(counts.items())))

    def resources(self) -> list[Any]:
        """Return the resources that extract the batch, and count the load in their state."""

        def rows_of(name: str) -> Iterator[dict[str, Any]]:
            state = penstock.current.resource_state()
            state["loads"] = state.get("loads", 0) + 1
            for number, extra, tags in self.rows[name]:
                yield {"id": number, "tags": list(tags)} | ({} if extra is None else {"extra": extra})

        return [
            penstock.resource(
                rows_of,
                name=name,
                write_disposition=DISPOSITIONS[name],
                primary_key="id" if DISPOSITIONS[name] == "merge" else None,
                schema_contract=_CONTRACTS.get(name),
            )(name)
            for name in self.rows
        ]

    def figures_input(self) -> list[dict[str, Any]]:
        """Return the batch as a load of a history, as `plan_figures` has it."""
        return [
            {
                "name": name,
                "primary_key": ["id"] if DISPOSITIONS[name] == "merge" else [],
                "loads": [{"write_disposition": DISPOSITIONS[name]}],
            }
            for name in self.rows
        ]


@dataclass(frozen=True, kw_only=True)
class TableKind:
    """A destination of histories."""

    pipeline_at: Callable[[Path, str], Pipeline]
    """Returns the pipeline of a root folder on a machine, by its name."""
    rows_of: Callable[[Pipeline], Rows]
    """Returns the visible rows of all data tables."""
    tables: tuple[str, ...]
    """The tables that it can load."""
    keeps_replaced_rows: bool = True


@dataclass
class WaitingPlan:
    """A plan with what it was made for."""

    plan: LoadPlan
    batch: Batch
    generation: int


@dataclass
class LoadHistory:
    """A pipeline and its model: the contents after each load that is in effect."""

    kind: TableKind
    root: Path
    chance: random.Random
    has_crashes: bool = False
    contents: list[Content] = field(default_factory=lambda: [Content()])
    plans: list[WaitingPlan] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    generation: int = 0
    """Grows with each load, application and undo: a plan of an older one is outdated."""
    _steps: dict[str, int] = field(default_factory=dict)
    _rows: Rows = field(default_factory=dict)

    def operations(self) -> list[tuple[int, Callable[[], None]]]:
        """Return the operations that are possible now, with their weights."""
        return [
            (4, self.load),
            *([(3, self.plan)] if len(self.plans) < _MOST_PLANS else []),
            *([(4, self.apply)] if self.plans else []),
            *([(3, self.undo)] if len(self.contents) > 1 else []),
            *([(4, self.replay)] if self.contents[-1].quarantine else []),
        ]

    def play(self, length: int) -> list[str]:
        """Run operations, and return every difference from the model."""
        self.load()
        for _ in range(length):
            if self.chance.random() < 0.2:
                shutil.rmtree(self.root / "one", ignore_errors=True)
            operations = self.operations()
            (chosen,) = self.chance.choices(
                [operation for _, operation in operations], [weight for weight, _ in operations]
            )
            chosen()
            if self.problems:
                break
        return self.problems

    # --- the operations

    def load(self) -> None:
        """Load a batch."""
        batch = self._batch()
        after = batch.after(self.contents[-1])
        if self._crashed(
            "load", lambda: self._pipeline().run(batch.resources()), can_crash=self.generation > 0
        ):
            if self._settle_either(after):
                self._push(after)
            return
        self._push(after)
        self._check("load")

    def plan(self) -> None:
        """Plan a batch: nothing changes."""
        batch = self._batch()
        plans: list[LoadPlan] = []
        is_crashed = self._crashed("plan", lambda: plans.append(self._pipeline().plan(batch.resources())))
        known = {item.plan.load_ids for item in self.plans}
        if is_crashed:
            for plan in self._pipeline().list_plans():
                if plan.load_ids not in known:
                    self._pipeline().drop_plan(plan)
        else:
            self.plans.append(WaitingPlan(plans[0], batch, self.generation))
        self._check("plan")

    def apply(self) -> None:
        """Apply a plan, which is refused if anything was loaded or undone since."""
        item = self.chance.choice(self.plans)
        self.plans.remove(item)
        if item.generation != self.generation:
            self.done.append("apply, outdated")
            with pytest.raises(PlanOutdated):
                self._pipeline().apply(item.plan)
            self._pipeline().drop_plan(item.plan)
            self._check("apply, outdated")
            return
        after = item.batch.after(self.contents[-1])
        infos: list[LoadInfo] = []
        is_crashed = self._crashed("apply", lambda: infos.append(self._pipeline().apply(item.plan)))
        if is_crashed and self._settle_either(after):
            self._push(after)
            return
        if is_crashed:
            infos.append(self._pipeline().apply(item.plan.load_ids[0]))
        before = self._rows
        self._push(after)
        self._check("apply")
        self.problems += [
            f"{len(self.done)} apply: {text}"
            for text in differences(item.plan, infos[0], before, self._rows, item.batch.figures_input(), 0)
        ]

    def undo(self) -> None:
        """Undo some loads, which is refused where their old rows are gone."""
        last = self.chance.randint(1, min(_MOST_UNDONE, len(self.contents) - 1))
        after, undone = self.contents[-1 - last], self.contents[-last - 1 :]
        has_replaced = any(
            (after.stock and old.stock != new.stock)
            or (after.quarantine and len(old.quarantine) > len(new.quarantine))
            for old, new in pairwise(undone)
        )
        if has_replaced and not self.kind.keeps_replaced_rows:
            self.done.append("undo, refused")
            with step_raises(UndoRefused):
                self._pipeline().undo(last=last)
            self._check("undo, refused")
            return
        if self._crashed("undo", lambda: self._pipeline().undo(last=last)) and not self._settle_either(after):
            self._pipeline().undo(last=last)
        del self.contents[-last:]
        self.generation += 1
        self._check("undo")

    def replay(self) -> None:
        """Load the quarantined rows, and their column."""
        after = self.contents[-1].after_replay()

        def replay() -> object:
            return self._pipeline().replay_quarantine(schema_contract={"columns": "evolve"})

        if self._crashed("replay", replay) and not self._settle_either(after):
            replay()
        self._push(after)
        self._check("replay")

    # --- crashes

    def _crashed(self, name: str, operate: Callable[[], object], *, can_crash: bool = True) -> bool:
        """Run an operation, and return whether it died at a step; half of the machines lose their disk."""
        self.done.append(name)
        is_crash = self.has_crashes and can_crash and self.chance.random() < 0.4
        at = self.chance.randrange(max(1, self._steps.get(name, 30))) if is_crash else None

        def die(step: Step) -> None:
            if step.number == at:
                raise Crash

        steps = Steps(self.root, die)
        try:
            with recording_steps(steps):
                operate()
        except Crash:
            self.done[-1] = f"{name}, died at {steps.seen[-1].kind}"
            expire_lease(self.root)
            if self.chance.random() < 0.5:
                shutil.rmtree(self.root / "one", ignore_errors=True)
            return True
        self._steps[name] = len(steps.seen)
        return False

    def _settle_either(self, after: Content) -> bool:
        """Complete what a dead process has left; return whether its operation took effect."""
        self._pipeline().run()
        self._rows = self.kind.rows_of(self.kind.pipeline_at(self.root, "reader"))
        content = self._content()
        if content not in {self.contents[-1], after}:
            self.problems.append(f"{self.done}: {content} is neither {self.contents[-1]} nor {after}")
        return content == after

    # --- the model

    def _batch(self) -> Batch:
        names = self.chance.sample(self.kind.tables, self.chance.randint(1, len(self.kind.tables)))
        return Batch({name: self._documents(name) for name in names})

    def _documents(self, name: str) -> tuple[Document, ...]:
        has_extra = self.chance.random() < 0.2
        documents = (
            (
                number,
                self.chance.randrange(9) if has_extra else None,
                tuple(sorted(self.chance.choices(range(9), k=self.chance.randrange(3)))),
            )
            for number in self.chance.sample(_IDS[name], self.chance.randint(1, 4))
        )
        return _in_order(documents)

    def _push(self, content: Content) -> None:
        self.contents.append(content)
        self.generation += 1

    def _pipeline(self) -> Pipeline:
        return self.kind.pipeline_at(self.root, "one")

    def _check(self, name: str) -> None:
        self._rows = self.kind.rows_of(self.kind.pipeline_at(self.root, "reader"))
        content = self._content()
        if content != self.contents[-1]:
            self.problems.append(f"{self.done}: after {name} {content} instead of {self.contents[-1]}")

    def _content(self) -> Content:
        """Return what another machine sees."""
        reader = self.kind.pipeline_at(self.root, "reader")
        reader.sync_destination()
        resources = reader.state["sources"].get(NAME, {}).get("resources", {})
        counts = {name: state["loads"] for name, state in resources.items() if "loads" in state}
        documents = {name: _documents_of(self._rows, name) for name in DISPOSITIONS}
        refused = [json.loads(row["raw"]) for row in self._rows.get("_dlt_quarantine", [])]
        quarantine = _in_order((row["id"], row.get("extra"), tuple(row["tags"])) for row in refused)
        return Content(**documents, quarantine=quarantine, loads=tuple(sorted(counts.items())))


def data_tables(names: Iterable[str]) -> list[str]:
    """Return the tables with rows of the user, quarantined ones too."""
    return [name for name in names if name == "_dlt_quarantine" or not name.startswith("_dlt")]


def rows_of_dataset(pipeline: Pipeline) -> Rows:
    """Return the visible rows of all data tables of a pipeline."""
    dataset = pipeline.dataset()
    names = data_tables(dataset.tables)
    return {name: dataset[name].arrow().to_pylist() for name in names}


def play_histories(
    kind: TableKind,
    folder: Path,
    seeds: Iterable[int],
    capsys: pytest.CaptureFixture[str],
    *,
    length: int = 12,
    has_crashes: bool = False,
) -> list[str]:
    """Play histories, print what they did, and return every difference."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for seed in seeds:
        root = folder / f"history{seed}"
        history = LoadHistory(kind, root, random.Random(seed), has_crashes=has_crashes)
        wrong += [f"seed {seed}: {problem}" for problem in history.play(length)]
        counts.update(name.partition(" at ")[0] for name in history.done)
        counts["histories"] += 1
        # A thread of a process that died here may still renew its lease.
        shutil.rmtree(root, ignore_errors=True)
    with capsys.disabled():
        done = ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
        print(f"\n{done}; {len(wrong)} wrong", *wrong, sep="\n")  # noqa: T201 - the figures
    return wrong


def _documents_of(rows: Rows, name: str) -> tuple[Document, ...]:
    tags: dict[str, list[int]] = {}
    for row in rows.get(f"{name}__tags", []):
        tags.setdefault(row["_dlt_parent_id"], []).append(row["value"])
    roots: Sequence[dict[str, Any]] = rows.get(name, [])
    orphans = tags.keys() - {row["_dlt_id"] for row in roots}
    assert not orphans, f"nested rows of {name} without a root"
    documents = ((row["id"], row.get("extra"), tuple(sorted(tags.get(row["_dlt_id"], [])))) for row in roots)
    return _in_order(documents)


def _in_order(documents: Iterable[Document]) -> tuple[Document, ...]:
    return tuple(sorted(documents, key=_sort_key))


def _sort_key(document: Document) -> tuple[int, int, tuple[int, ...]]:
    number, extra, tags = document
    return number, -1 if extra is None else extra, tags
